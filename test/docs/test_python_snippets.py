"""Every Python block of README and docs runs, outside a clone, and prints what the page says."""

import contextlib
import doctest
import io
import re
import shutil

import numpy as np
import pytest
from support.pages import PAGES, blocks, name
from support.places import URDF

COMPARE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
OPTIONAL = {
    'pinocchio': 'pinocchio',
    'geometry_msgs': 'geometry_msgs',
    'sensor_msgs': 'sensor_msgs',
    'ik_viewer': 'viser',
}
"""What pages import that is not installed everywhere, and what to look for."""
SCRIPTED = [page for page in PAGES if any(block.kind == 'python' for block in blocks(page))]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder to run in, with nothing but what pages call the reader's own robot."""
    shutil.copy(URDF / 'ur5e.urdf', tmp_path / 'my_robot.urdf')
    monkeypatch.chdir(tmp_path)
    numbers = np.get_printoptions()
    yield tmp_path
    np.set_printoptions(**numbers)


def run(page, block, names):
    """What a block prints, with the names that the blocks before it made."""
    printed = io.StringIO()
    code = compile('\n' * block.line + block.text, page.name, 'exec')
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def test_there_are_snippets():
    assert {'README.md', 'docs/goals_and_tasks.md'} <= {name(page) for page in SCRIPTED}


def check(page):
    """Run the blocks of a page in one go; a `text` block after one says what that prints.

    A page ends, as skipped, at the first block that needs what is not installed here.
    """
    names, printed = {'__name__': 'page'}, ''
    for block in blocks(page):
        if block.kind == 'python':
            for module in re.findall(r'^(?:import|from) (\w+)', block.text, re.M):
                if module in OPTIONAL:
                    pytest.importorskip(OPTIONAL[module])
            printed = run(page, block, names)
            assert not any(word in printed for word in ('nan', 'Traceback')), block.text
        elif block.kind == 'text' and printed:
            same = doctest.OutputChecker().check_output(block.text, printed, COMPARE)
            assert same, f'{page.name}:{block.line} says\n{block.text}\nit prints\n{printed}'
            printed = ''


@pytest.mark.parametrize('page', SCRIPTED, ids=name)
def test_the_snippets_of_a_page_run_and_print_what_it_says(page, elsewhere):
    check(page)


@pytest.mark.parametrize(
    'text',
    ['```python\n1 / 0\n```\n', '```python\nprint(1)\n```\n\n```text\n2\n```\n'],
    ids=['raises', 'prints something else'],
)
def test_a_wrong_snippet_is_noticed(text, elsewhere):
    page = elsewhere / 'page.md'
    page.write_text(text)
    with pytest.raises((ZeroDivisionError, AssertionError)):
        check(page)
