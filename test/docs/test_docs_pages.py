# SPDX-License-Identifier: Apache-2.0
"""README and docs: short where promised, in the index, and about things that are there."""

import re

import pytest
from support.pages import PAGES, blocks, links, name, prose
from support.places import ROOT

DRAWING = (ROOT / 'docs' / 'pictures' / 'architecture.svg').read_text('utf-8')


def test_the_readme_is_short():
    assert (ROOT / 'README.md').read_text('utf-8').count('\n') <= 150


def test_the_readme_shows_python_on_its_first_screen():
    first = blocks(ROOT / 'README.md')[0]
    assert first.kind == 'python'
    assert first.line + first.text.count('\n') < 20


def test_contributing_is_short():
    assert (ROOT / 'CONTRIBUTING.md').read_text('utf-8').count('\n') <= 60


def test_the_index_links_to_every_page():
    docs = ROOT / 'docs'
    linked = {(docs / link).resolve() for link in links(docs / 'index.md')}
    alone = {path for path in docs.rglob('*.md') if path not in linked} - {docs / 'index.md'}
    # Each of these is a line with a link to a file of the root, which the index links to.
    assert {path.stem for path in alone} == {'changelog', 'contributing', 'measured'}
    assert all(linked & {(docs / link).resolve() for link in links(path)} for path in alone)


def test_the_readme_begins_with_the_robot_in_motion():
    shown = [link for link in links(ROOT / 'README.md') if link.endswith('.webp')]
    assert shown == ['docs/pictures/drag.webp']
    assert (ROOT / shown[0]).stat().st_size < 3e6


@pytest.mark.parametrize(
    'word',
    [
        *('Cartesian', 'waypoint', 'joystick', 'game pad', 'action server', 'QoS', 'planner'),
        *('TRAC-IK', 'pick_ik', 'KDL', 'IKFast', 'MoveIt', 'Servo', 'pink', 'mink'),
        *('Robotics Toolbox', 'ikpy', 'lerobot', 'ssik', 'singular start', 'soft robots'),
    ],
)
def test_a_word_that_users_search_is_found(word):
    assert any(word in prose(page) for page in PAGES)


def test_every_picture_is_shown():
    shown = {link.rpartition('/')[2] for page in PAGES for link in links(page)}
    assert {path.name for path in (ROOT / 'docs' / 'pictures').iterdir()} <= shown


def is_room(path):
    return (path / '__init__.py').is_file()


def test_the_drawing_has_the_rooms_that_there_are():
    drawn = set(re.findall(r'>(?:and )?(\w+)/', DRAWING))
    core, node, viewer = (ROOT / name for name in ('ik_core', 'ik_node', 'ik_viewer'))
    rooms = {path.name for house in (core, viewer) for path in house.iterdir() if is_room(path)}
    assert rooms <= drawn
    assert all(any(is_room(house / room) for house in (core, node, viewer)) for room in drawn)


PROGRAMS = sorted(
    {
        module
        for page in (*PAGES, ROOT / 'CONTRIBUTING.md', ROOT / 'CHANGELOG.rst')
        for module in re.findall(r'python -m ((?:ik_|benchmark)[\w.]*)', page.read_text('utf-8'))
    }
)


@pytest.mark.parametrize('module', PROGRAMS)
def test_every_program_that_pages_name_is_there(module):
    path = ROOT / module.replace('.', '/')
    assert path.with_suffix('.py').is_file() or (path / '__main__.py').is_file()


FILES = r'`((?:benchmark|config|examples|launch|test|urdf|scripts|docs)/[\w./-]+\.\w+)`'


@pytest.mark.parametrize('page', PAGES, ids=name)
def test_every_file_that_a_page_names_is_there(page):
    named = re.findall(FILES, prose(page))
    assert not [file for file in named if not (ROOT / file).exists()]
