# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/develop/recipes.md, followed to the letter in a copy of the sources."""

import re
import sys
import textwrap

import pytest
from support.installed_tree import ROOT, copy_tree, run
from support.robots import python_path

pytestmark = pytest.mark.thorough
PAGE = (ROOT / 'docs' / 'develop' / 'recipes.md').read_text(encoding='utf-8')
SOLVERS = 'ik_core/solvers/__init__.py'
NAMES = 'ik_core/solvers/names.py'
EXAMPLES = 'test/support/task_examples.py'


def blocks(recipe):
    """The code blocks of a recipe, in order, as they would be pasted."""
    _, _, section = PAGE.partition(f'## Recipe: {recipe}\n')
    section = section.partition('\n## ')[0]
    found = re.findall(r'^ *```python\n(.*?)^ *```$', section, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


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
    """What Python prints in the tree; without numba, which would compile all of it anew."""
    environment = {'PYTHONPATH': python_path(tree), 'NUMBA_DISABLE_JIT': '1'}
    done = run(sys.executable, *arguments, cwd=tree, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def contract(tree, name):
    options = ('-q', '-p', 'no:cacheprovider', 'test/core/tasks/test_task_contract.py')
    said = python(tree, '-m', 'pytest', *options, '-k', f'{name} or every_task_has')
    assert 'passed' in said
    assert 'passed' in python(tree, '-m', 'pytest', *options[:-1], 'test/docs/test_api_pages.py')


def test_a_solver_in_four_files(tree):
    pytest.importorskip('rclpy')
    method, registry, name = blocks('a new solver')
    (tree / 'ik_core/solvers/gauss_newton.py').write_text(method)
    line, entry = registry.splitlines(keepends=True)
    edit(tree / SOLVERS, 'from .jacobian_transpose', line)
    edit(tree / SOLVERS, "'trust_region'", entry)
    edit(tree / NAMES, "'trust_region'", name.splitlines(keepends=True)[1])
    python(tree, '-m', 'pytest', '-q', 'test/docs/test_api_pages.py', '-k', 'type_checkers')
    yaml = python(tree, '-m', 'ik_node.parameters.describe')
    assert 'gauss_newton.max_step: 0.5' in yaml
    goal = ('--xyz', '0.4', '0.2', '0.5', '--rpy', '3.1', '0', '0')
    said = python(tree, '-m', 'ik_core', 'solve', 'panda', *goal, '--solver', 'gauss_newton')
    assert 'all goals are reached' in said


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
