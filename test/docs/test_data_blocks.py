# SPDX-License-Identifier: Apache-2.0
"""Blocks of data on the pages are read by the library; every kind of block has a test."""

import json

import pytest
from support.pages import PAGES, blocks, name
from support.places import ROOT

import ik_core as ik

DOCS = ROOT / 'docs'
TESTED = {
    'python': 'test_snippets.py',
    'text': 'test_snippets.py, where it is the output of a block',
    'sh': 'test_shell_snippets.py, test_snippets.py',
    'json': 'here',
    'bibtex': 'test_package.py',
}
# Pages with drawings: test_imports.py and test_life_of_a_goal.py read them
DRAWINGS = {'docs/develop/architecture.md', 'docs/inside.md'}
LOADED = {'collisions', 'jogging'}  # Pages whose YAML is read below, or by test_game_pad.py
OTHERS = 'docs/coming_from.md'  # Has lines that need other software, and says so


def data(page, kind):
    """The only block of a kind on a page."""
    (block,) = (block.text for block in blocks(DOCS / page) if block.kind == kind)
    return block


@pytest.mark.parametrize('page', PAGES, ids=name)
def test_every_block_is_of_a_kind_that_a_test_knows(page):
    for block in blocks(page):
        yaml = block.kind == 'yaml' and ('/**:' in block.text or page.stem in LOADED)
        known = block.kind in TESTED or yaml
        known = known or (not block.kind and name(page) in DRAWINGS) or name(page) == OTHERS
        assert known, f'{name(page)}:{block.line}: {block.kind!r}'


def test_the_page_for_those_who_come_from_others_says_what_their_lines_need():
    assert 'Theirs need their software' in (ROOT / OTHERS).read_text('utf-8')


def test_the_world_of_the_page_is_read_for_the_panda(tmp_path):
    (tmp_path / 'world.yaml').write_text(data('collisions.md', 'yaml'))
    world = ik.collision.load_world(tmp_path / 'world.yaml')
    panda = ik.load_urdf('panda')
    near = ik.Collisions(panda, world).distances(panda.middle_configuration, within=5.0)
    named = {link for pair in near for link in (pair.first, pair.second)}
    assert {'floor', 'table', 'can', 'tool'} <= named


def test_the_library_of_the_page_is_read(tmp_path):
    motions = json.loads(data('example_guided.md', 'json'))
    del motions['throw']  # needs a captured motion
    (tmp_path / 'library.json').write_text(json.dumps(motions))
    panda = ik.load_urdf('panda')
    still = ik.motion.Motion(panda.joint_names, [panda.middle_configuration] * 3, period=0.1)
    ik.motion.save_motion(still, tmp_path / 'wave.csv')
    wave = ik.retargeting.MotionLibrary(tmp_path).load('wave')
    assert wave.retarget(ik.load_urdf('iiwa14')).motion.joint_names
