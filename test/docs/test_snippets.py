"""Every Python block of README and docs, and what they say of `ik`, runs outside a clone."""

import sys

import pytest
from support.installed_tree import run
from support.pages import PAGES, blocks, name
from support.places import ROOT
from support.robots import python_path

SKIPPED = 77
SCRIPTED = [page for page in PAGES if any(block.kind == 'python' for block in blocks(page))]

COMMANDED = [page for page in PAGES if any(b.text.startswith('ik ') for b in blocks(page))]


def run_page(page, folder, what='python'):
    """Run a page's blocks of one kind in a folder; see support/page_runner.py."""
    here = {'PYTHONPATH': python_path(ROOT, ROOT / 'test'), 'NUMBA_DISABLE_JIT': '1'}
    done = run(sys.executable, '-m', 'support.page_runner', what, page, cwd=folder, **here)
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    return done


def test_there_are_snippets():
    assert {'README.md', 'docs/goals_and_tasks.md'} <= {name(page) for page in SCRIPTED}


@pytest.mark.parametrize('page', SCRIPTED, ids=name)
def test_the_snippets_of_a_page_run_and_print_what_it_says(page, tmp_path):
    done = run_page(page, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ('what', 'text'),
    [
        ('python', '```python\n1 / 0\n```\n'),
        ('python', '```python\nprint(1)\n```\n\n```text\n2\n```\n'),
        ('shell', '```sh\nik solve panda --xyz 9 9 9\n```\n'),
    ],
    ids=['raises', 'prints something else', 'fails'],
)
def test_a_wrong_snippet_is_noticed(what, text, tmp_path):
    page = tmp_path / 'page.md'
    page.write_text(text)
    assert run_page(page, tmp_path, what).returncode == 1


@pytest.mark.parametrize('page', COMMANDED, ids=name)
def test_the_quick_commands_of_a_page_run(page, tmp_path):
    done = run_page(page, tmp_path, 'shell')
    assert done.returncode == 0, done.stdout + done.stderr
