"""README and docs: short where promised, whole, and without a dead link."""

import re

import pytest
from support.pages import PAGES, links, name, prose
from support.places import ROOT

DRAWING = (ROOT / 'docs' / 'pictures' / 'architecture.svg').read_text('utf-8')


def anchors(path):
    """The anchors of a page, as GitHub and MyST make them of its headings."""
    found = re.findall(r'^#+ +(.*)$', prose(path), re.M)
    kept = (re.sub(r'[^\w\- ]', '', heading.lower()) for heading in found)
    return {heading.strip().replace(' ', '-') for heading in kept}


def test_the_readme_is_short():
    assert (ROOT / 'README.md').read_text('utf-8').count('\n') <= 150


@pytest.mark.parametrize('page', PAGES, ids=name)
def test_every_link_leads_somewhere(page):
    for link in links(page):
        target, _, anchor = link.partition('#')
        if '://' in link or link.startswith('mailto:'):
            continue
        path = (page.parent / target) if target else page
        assert path.exists(), f'{name(page)}: {link}'
        if anchor and path.suffix == '.md' and 'include}' not in path.read_text('utf-8'):
            assert anchor in anchors(path), f'{name(page)}: {link}'


def test_every_page_is_in_a_table_of_contents():
    listed = {'index'}
    for page in PAGES:
        for toc in re.findall(r'```\{toctree\}\n(.*?)```', page.read_text('utf-8'), re.S):
            listed |= {line.strip() for line in toc.splitlines() if not line.startswith(':')}
    pages = {path.relative_to(ROOT / 'docs') for path in (ROOT / 'docs').rglob('*.md')}
    assert {str(path.with_suffix('')) for path in pages} - {'api/index'} <= listed | {'api/index'}


def test_the_readme_begins_with_the_robot_in_motion():
    shown = [link for link in links(ROOT / 'README.md') if link.endswith('.webp')]
    assert shown == ['docs/pictures/drag.webp']
    assert (ROOT / shown[0]).stat().st_size < 3e6


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
