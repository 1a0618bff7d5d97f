# SPDX-License-Identifier: Apache-2.0
"""Type checkers understand the library as users write it, and find the faults that users make."""

import pytest
from support import type_checkers
from support.places import ROOT
from support.type_checkers import CHECKERS, MARK, PLANTED, Report, differences


@pytest.fixture(scope='module')
def checked(tmp_path_factory):
    """Return a function: the folder of all that is checked, and the reports of a checker."""
    folder = tmp_path_factory.mktemp('checked')
    type_checkers.write_sources(folder)

    def check(checker):
        if type_checkers.found(checker) is None:
            pytest.skip(f'{checker} is not installed: make lint installs it')
        return folder, CHECKERS[checker](folder)

    return check


@pytest.mark.parametrize('checker', CHECKERS)
def test_examples_and_pages_pass_and_planted_faults_are_found(checked, checker):
    assert differences(*checked(checker)) == []


def test_at_least_twenty_faults_are_planted_beside_right_lines():
    lines = PLANTED.read_text('utf-8').splitlines()
    assert sum(line.endswith(MARK) for line in lines) >= 20
    calls = [line for line in lines if '(' in line and not line.startswith('#')]
    assert sum(not line.endswith(MARK) for line in calls) >= 20


def test_examples_and_pages_are_checked(tmp_path):
    shown = type_checkers.write_sources(tmp_path).values()
    assert {'examples/one_pose.py', 'README.md', 'docs/goals_and_tasks.md'} <= set(shown)
    text = (tmp_path / 'docs_solvers_md.py').read_text('utf-8').splitlines()
    page = (ROOT / 'docs' / 'solvers.md').read_text('utf-8').splitlines()
    assert all(own in ('', line) for own, line in zip(text, page, strict=False))
    assert 'import ik_core as ik' in text


@pytest.mark.parametrize('checker', CHECKERS)
def test_a_fault_without_a_mark_and_a_mark_without_a_fault_are_reported(tmp_path, checker):
    if type_checkers.found(checker) is None:
        pytest.skip(f'{checker} is not installed: make lint installs it')
    lines = ['import ik_core as ik', 'ik.solve_al()', f"robot = ik.load_robot('panda')  {MARK}"]
    (tmp_path / 'program.py').write_text('\n'.join(lines), encoding='utf-8')
    unmarked, missed = differences(tmp_path, CHECKERS[checker](tmp_path))
    assert unmarked.line == 2
    assert 'solve_al' in unmarked.message
    assert missed == Report('program.py', 3, "not found: robot = ik.load_robot('panda')")
