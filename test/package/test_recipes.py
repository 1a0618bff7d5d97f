# SPDX-License-Identifier: Apache-2.0
"""The recipes for developers, followed to the letter in a copy of the sources."""

import re
import shlex
import shutil
import sys
import textwrap

import pytest
from support.installed_tree import ROOT, copy_tree, run
from support.robots import python_path

pytestmark = pytest.mark.thorough
PAGES = [ROOT / 'CONTRIBUTING.md', *sorted(ROOT.glob('docs/**/*.md'))]
UNRELATED = ('.git', '.venv*', '.*_cache', '__pycache__', 'build', 'install', 'log', '*.egg-info')
SOLVERS = 'ik_core/solvers/__init__.py'
NAMES = 'ik_core/solvers/names.py'
EXAMPLES = 'test/support/task_examples.py'


def text_of(recipe):
    """The section of that name, on whichever page it is."""
    heading = f'## Recipe: {recipe}\n'
    (page,) = (text for page in PAGES if heading in (text := page.read_text(encoding='utf-8')))
    return page.partition(heading)[2].partition('\n## ')[0]


def blocks(recipe):
    """The code blocks of a recipe, in order, as they would be pasted."""
    found = re.findall(r'^ *```python\n(.*?)^ *```$', text_of(recipe), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def commands(recipe):
    """The commands of a recipe, in order."""
    return re.findall(r'^    (\.venv/bin/python .*)$', text_of(recipe), re.MULTILINE)


def enter(tree, command, **environment):
    """Run a command of a recipe; return its output, which also goes into the file behind `>`."""
    line, _, target = command.partition(' > ')
    words = shlex.split(line, comments=True)
    # Without thorough tests, of which the caller is one: it would run itself again and again.
    environment = {'PYTHONPATH': python_path(tree), 'THOROUGH': '', **environment}
    done = run(sys.executable, *words[1:], cwd=tree, **environment)
    assert done.returncode == 0, f'{command}\n{done.stdout}{done.stderr}'
    if target:
        (tree / target).write_text(done.stdout, encoding='utf-8')
    return done.stdout


def edit(path, before, addition):
    """Put a line before the one that begins with `before`."""
    text = path.read_text(encoding='utf-8')
    place = re.search(f'^ *{re.escape(before)}', text, re.MULTILINE)
    assert place, f'{path.name} has no {before!r}'
    path.write_text(text[: place.start()] + addition + text[place.start() :], encoding='utf-8')


def publish(tree, name, module):
    """Export a task from ik_core.tasks, and list it on the API pages."""
    tasks = tree / 'ik_core/tasks/__init__.py'
    edit(tasks, 'from .base', f'from .{module} import {name}\n')
    edit(tasks, "'EndEffectorPatternTask',\n", f'    {name!r},\n')
    edit(tree / 'docs/api/index.md', '| `EndEffectorPatternTask`', f'| `{name}` | a task |\n')
    edit(tree / 'docs/api/problems.rst', '.. autoclass:: EndEff', f'.. autoclass:: {name}\n\n')


@pytest.fixture
def tree(tmp_path):
    """The sources and their tests."""
    return copy_tree(tmp_path / 'source')


def python(tree, *arguments):
    """Return Python's output in the tree; without numba, which would compile all of it again."""
    return enter(tree, shlex.join(['python', *arguments]), NUMBA_DISABLE_JIT='1')


def contract(tree, name):
    options = ('-q', '-p', 'no:cacheprovider', 'test/core/tasks/test_task_contract.py')
    said = python(tree, '-m', 'pytest', *options, '-k', f'{name} or every_task_has')
    assert 'passed' in said
    assert 'passed' in python(tree, '-m', 'pytest', *options[:-1], 'test/docs/test_api_pages.py')


def paste_solver(tree):
    """One file and two lines."""
    method, line, name = blocks('a new solver')
    (tree / 'ik_core/solvers/gauss_newton.py').write_text(method, encoding='utf-8')
    edit(tree / SOLVERS, 'from .jacobian_transpose', line)
    edit(tree / NAMES, "'trust_region'", name.splitlines(keepends=True)[1])


def test_a_solver_runs_as_plain_python(tree):
    paste_solver(tree)
    goal = ('--xyz', '0.4', '0.2', '0.5', '--rpy', '3.1', '0', '0')
    said = python(tree, '-m', 'ik_core', 'solve', 'panda', *goal, '--solver', 'gauss_newton')
    assert 'all goals are reached' in said


def test_the_recipe_of_a_solver_does_what_it_announces(tmp_path):
    """Each of its commands, also the one that compiles the method."""
    pytest.importorskip('rclpy')
    pytest.importorskip('matplotlib')
    tree, missing = tmp_path / 'source', shutil.ignore_patterns(*UNRELATED)
    shutil.copytree(ROOT, tree, ignore=missing)
    paste_solver(tree)
    said = {command: enter(tree, command) for command in commands('a new solver')}
    assert len(said) == 7

    def answers(part):
        return next(answer for command, answer in said.items() if part in command)

    assert 'gauss_newton.max_step: 0.5' in (tree / 'config/ik_node.yaml').read_text()
    assert '### `gauss_newton`' in (tree / 'docs/interface.md').read_text()
    library = next((tree / 'ik_core/kernels').glob('ik-*.so')).read_bytes()
    assert b'ik_run_gauss_newton' in library
    assert 'all goals are reached' in answers('ik_core solve')
    assert ',gauss_newton,' in (tree / 'build/figures/convergence.csv').read_text()
    assert (tree / 'build/figures/convergence.svg').is_file()
    passed = re.search(r'(\d+) passed', answers('-k gauss_newton'))
    assert passed
    assert int(passed[1]) > 20


def test_a_task_in_five_files(tree):
    task, example = blocks('a new task')
    (tree / 'ik_core/tasks/distance.py').write_text(task)
    publish(tree, 'DistanceTask', 'distance')
    edit(tree / EXAMPLES, 'ik.tasks.JointPatternTask', textwrap.indent(example, '    '))
    contract(tree, 'DistanceTask')


def test_a_goal_in_five_files(tree):
    goal, example = blocks('a new goal')
    edit(tree / 'ik_core/tasks/goals.py', 'def _not_negative', goal + '\n\n')
    publish(tree, 'PlaneTask', 'goals')
    edit(tree / EXAMPLES, 'ik.OrientationTask', textwrap.indent(example, '    '))
    contract(tree, 'PlaneTask')
