# SPDX-License-Identifier: Apache-2.0
"""Every Python block of README and docs, and what they say of `ik`, runs outside a clone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.pages import PAGES, blocks, name
from support.places import ROOT
from support.robots import python_path

from ik_core.kernels import library

pytestmark = pytest.mark.long
SKIPPED = 77
RUN_ELSEWHERE = {
    ROOT / 'docs' / 'examples.md',  # whole programs: test_docs_examples.py
    ROOT / 'docs' / 'develop' / 'recipes.md',  # parts of files: test_recipes.py
}
SCRIPTED = [
    page
    for page in PAGES
    if page not in RUN_ELSEWHERE and any(block.kind == 'python' for block in blocks(page))
]
COMMANDED = [page for page in PAGES if any(b.text.startswith('ik ') for b in blocks(page))]


@pytest.fixture(scope='module')
def run_page(tmp_path_factory):
    """Run a page's blocks of one kind: exit code and output; see support/page_runner.py."""
    here = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}
    here['PYTHONPATH'] = python_path(ROOT, ROOT / 'test')
    if library.BACKEND != 'library':  # numba would compile for longer than plain Python takes
        here['NUMBA_DISABLE_JIT'] = '1'
    runner = subprocess.Popen(
        [sys.executable, '-m', 'support.page_runner'],
        env=here,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(page, what='python', robot='ur5e'):
        folder = tmp_path_factory.mktemp('page')
        print(what, page, robot, folder, sep='\t', file=runner.stdin, flush=True)
        code = int(runner.stdout.readline())
        printed = Path(f'{folder}.txt').read_text()
        if code == SKIPPED:
            pytest.skip(printed.strip())
        return code, printed

    yield run
    runner.communicate()


def test_there_are_snippets():
    assert {'README.md', 'docs/goals_and_tasks.md'} <= {name(page) for page in SCRIPTED}


@pytest.mark.parametrize('page', SCRIPTED, ids=name)
def test_the_snippets_of_a_page_run_and_print_what_it_says(page, run_page):
    code, printed = run_page(page)
    assert code == 0, printed


def test_the_conversions_run_for_a_robot_with_a_gripper_too(run_page):
    code, printed = run_page(ROOT / 'docs' / 'integrations.md', robot='panda')
    assert code == 0, printed


@pytest.mark.parametrize(
    ('what', 'text'),
    [
        ('python', '```python\n1 / 0\n```\n'),
        ('python', '```python\nprint(1)\n```\n\n```text\n2\n```\n'),
        ('shell', '```sh\nik solve panda --xyz 9 9 9\n```\n'),
    ],
    ids=['raises', 'prints something else', 'fails'],
)
def test_a_wrong_snippet_is_noticed(what, text, run_page, tmp_path):
    page = tmp_path / 'page.md'
    page.write_text(text)
    code, _ = run_page(page, what)
    assert code == 1


@pytest.mark.parametrize('page', COMMANDED, ids=name)
def test_the_quick_commands_of_a_page_run(page, run_page):
    code, printed = run_page(page, 'shell')
    assert code == 0, printed
