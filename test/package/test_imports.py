# SPDX-License-Identifier: Apache-2.0
"""Imports point one way, the core knows no ROS, and importing it is light."""

import ast
import itertools
import os
import re
import subprocess
import sys
from functools import cache

import pytest
from support.places import ROOT
from support.robots import python_path


def imported_names(path, root):
    """Full dotted names of all modules and names that a file imports.

    Also those of imports in functions and below `if TYPE_CHECKING`.
    """
    package = path.relative_to(root).with_suffix('').parts
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level]) if node.level else []
            base += node.module.split('.') if node.module else []
            if any(_file(root, [*base, alias.name]) is None for alias in node.names):
                yield '.'.join(base)  # a name of the module itself, not one of its modules
            yield from ('.'.join([*base, alias.name]) for alias in node.names)


def names_in_strings(path, root):
    """Full dotted names of the modules that a file names as text.

    All of a text has to be such a name, as in import_module('.solvers', __package__),
    ('-m', 'ik_core.for_c.header') and 'solvers.run:solve', by itself or within its package.
    """
    package = path.relative_to(root).parts[:-1]
    tree = ast.parse(path.read_text(encoding='utf-8'))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _modules_in(node.value, [(), package[:1]], root)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith('import_module'):
            text = getattr(node.args[0], 'value', '')
            dots = len(text) - len(text.lstrip('.')) if isinstance(text, str) else 0
            if dots:
                base = package[: len(package) + 1 - dots]
                yield from _modules_in(f'{text[dots:]}:', [base], root)


def _modules_in(text, bases, root):
    """The modules, below one of some packages, that a text is the name of, with a dot or colon."""
    if re.fullmatch(r'\w+(\.\w+)*(:[\w.]*)?', text) and ('.' in text or ':' in text):
        names = ((*base, *text.partition(':')[0].split('.')) for base in bases)
        yield from ('.'.join(parts) for parts in names if _file(root, parts))


def _file(root, parts):
    """The source of the module of that name, or None."""
    module = root.joinpath(*parts)
    candidates = (module.with_suffix('.py'), module / '__init__.py')
    return next((path for path in candidates if path.is_file()), None) if parts else None


def import_graph(root, *packages):
    """{file: other files it imports} for all sources of some packages below `root`."""
    names = {
        path: {*imported_names(path, root), *names_in_strings(path, root)}
        for path in files_of(root, *packages)
    }
    files = {name: _file(root, name.split('.')) for name in set().union(*names.values())}
    return {
        path: ({files[name] for name in of} & names.keys()) - {path} for path, of in names.items()
    }


def files_of(root, *packages):
    """The files of some packages below `root`."""
    return [path for package in packages for path in sorted((root / package).rglob('*.py'))]


def cycles(graph):
    """Sets of files that import each other, directly or by way of others."""
    reach = {path: _reachable(graph, path) for path in graph}
    groups = {
        frozenset({path, *(other for other in reach[path] if path in reach[other])})
        for path in graph
        if path in reach[path]
    }
    return sorted(groups, key=sorted)


def _reachable(graph, start):
    seen, waiting = set(), [start]
    while waiting:
        for other in graph[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


CORE = ROOT / 'ik_core'

# From the bottom up: a room imports from those below it, never from those beside or above it.
ORDERS = {
    'ik_core': [
        {'exceptions', 'version', 'kernels'},
        {'figures', 'progress', 'ending', 'jobs', 'locks', 'shared_files'},
        {'options', 'maths', 'display'},
        {'chunks', 'meshes', 'yaml_files'},
        {'rules', 'robot', 'result'},
        {'tasks', 'collision'},
        {'problem'},
        {'optim', 'closed_form'},
        {'solvers'},
        {'tracking', 'batch'},
        {'teleop'},
        {'reachability', 'retargeting', 'motion', 'for_c', 'showing', 'path'},
        {'__init__'},
        {'cli'},
        {'__main__', 'build'},
    ],
    'ik_node': [
        {
            '__init__',
            'arguments',
            'callback_groups',
            'clocks',
            'conversions',
            'counters',
            'guarded',
            'committed_steps',
            'texts',
        },
        {'background_node', 'parameters', 'planning_scene'},
        {'joint_limits', 'known_collisions'},
        {'scene_reader'},
        {'alignment', 'example_following'},
        {'robot_model', 'ticker'},
        {'outputs'},
        {'inputs'},
        {'services'},
        {'control_loop'},
        {'robot_swap'},
        {'node'},
        {'run'},
        {'main'},
        {'tools', '__main__'},
    ],
    'ik_viewer': [
        {'arm'},
        {'presets'},
        {'drawing', 'local', 'ros'},
        {'page'},
        {'compare', 'play', 'reach'},
        {'collisions', 'key_frames', 'path', 'rerun_file'},
        {'parts'},
        {'__init__', 'view', 'main', 'linkage', 'result'},
    ],
}
# The same within a folder of the core.
TRACKING = [
    {'governor', 'status', 'tracker_options'},
    {'goals'},
    {'solution'},
    {'state'},
    {'tick'},
    {'instructions'},
    {'observer'},
    {'tracker'},
    {'recording', '__init__'},
]
FLOORS = {
    (package, room): floor
    for package, order in ORDERS.items()
    for floor, rooms in enumerate(order)
    for room in rooms
}
PACKAGES = ('ik_core', 'ik_node', 'ik_viewer', 'benchmark')

# `ik.show` and `Motion.to_rerun` import the viewer by name when they are called.
DRAWN_ABOVE = {CORE / 'showing.py', CORE / 'robot' / 'motion.py'}

MESSAGES = ('rclpy', 'std_msgs', 'std_srvs', 'geometry_msgs', 'sensor_msgs', 'trajectory_msgs',
            'visualization_msgs', 'diagnostic_msgs', 'lifecycle_msgs', 'rcl_interfaces',
            'builtin_interfaces', 'moveit_msgs', 'tf2_ros', 'tf2_msgs', 'launch', 'launch_ros',
            'interactive_markers', 'ament_index_python', 'rosgraph_msgs')  # fmt: skip


def sources(*packages):
    """The files of packages, as parameters of a test."""
    paths = files_of(ROOT, *packages)
    return pytest.mark.parametrize('path', paths, ids=lambda p: str(p.relative_to(ROOT)))


@cache
def graph_of_all():
    """Return which file imports which; files of the core that start packages above it count
    without these."""
    graph = import_graph(ROOT, *PACKAGES)
    for path in graph:
        if room_of(path) == ('ik_core', 'cli') or path in DRAWN_ABOVE:
            graph[path] = {other for other in graph[path] if room_of(other)[0] == 'ik_core'}
    return graph


def imports_of(path):
    return imported_names(path, ROOT)


def room_of(path):
    """(package, room): of a file below no folder, its own name."""
    package, room, *_ = path.relative_to(ROOT).with_suffix('').parts
    if path == CORE / 'kernels' / 'build.py':  # a program, which compiles the whole package
        room = 'build'
    return package, room


def breaches(path, graph=None):
    """The files that this one imports, though they stand beside or above it."""
    graph = graph or graph_of_all()
    own = room_of(path)
    others = [o for o in graph[path] if room_of(o)[0] == own[0] and room_of(o) != own]
    return [other for other in others if FLOORS[room_of(other)] >= FLOORS[own]]


def write(folder, **texts):
    """Sources below a folder; '__' in a name stands for '/'."""
    for name, text in texts.items():
        path = folder / f'{name.replace("__", "/")}.py'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_scan_sees_imports_of_all_forms(tmp_path):
    write(
        tmp_path,
        core__tasks__sample='import numpy as np\n'
        'from . import base\n'
        'from ..robot.robot import Robot\n'
        'from .. import optim\n'
        'import core.solvers\n'
        'if TYPE_CHECKING:\n    from ..problem import IkProblem\n'
        'def late():\n    from ..robot.limits import JointLimits\n',
    )
    found = set(imported_names(tmp_path / 'core' / 'tasks' / 'sample.py', tmp_path))
    assert {
        'numpy',
        'core.tasks.base',
        'core.robot.robot',
        'core.optim',
        'core.solvers',
        'core.problem',
        'core.robot.limits',
    } <= found


def test_the_scan_sees_modules_in_text(tmp_path):
    write(
        tmp_path,
        core__solvers__run='',
        core__robot='',
        core__tasks__sample="""'Of core.solvers.run.'
from importlib import import_module
import_module('core.robot')
import_module('..solvers.run', __package__)
""",
        core__tasks__tables="TABLE = {'solvers.run:solve': 'ii', 'robot': 'core', 'a.py': '.run'}",
        core__tasks__commands="('python', '-m', 'core.solvers.run')",
    )

    def found(name):
        return set(names_in_strings(tmp_path / 'core' / 'tasks' / f'{name}.py', tmp_path))

    assert found('sample') == {'core.robot', 'core.solvers.run'}
    assert found('tables') == found('commands') == {'core.solvers.run'}


@pytest.mark.parametrize(
    'back',
    [
        'from ..rooms.a import thing',
        'from ..rooms import a',
        'import core.rooms.a',
        'from core.rooms.a import thing',
        'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..rooms.a import Thing',
        'def late():\n    from ..rooms.a import thing',
        'class C:\n    def late(self):\n        from ..rooms import a',
        'import importlib\ndef late():\n    importlib.import_module("core.rooms.a")',
        'from importlib import import_module\nimport_module("..rooms.a", __package__)',
        'TABLE = {"rooms.a:thing": "ii"}',
    ],
)
def test_a_planted_cycle_is_found(tmp_path, back):
    sound = {'core__rooms__a': 'from . import b', 'core__rooms__b': 'from ..below import c'}
    write(tmp_path, core__below__c='x = 1', core__rooms__d='from . import a', **sound)
    assert cycles(import_graph(tmp_path, 'core')) == []
    write(tmp_path, core__below__c=back)
    (cycle,) = cycles(import_graph(tmp_path, 'core'))
    assert {path.stem for path in cycle} == {'a', 'b', 'c'}


def test_an_import_beside_or_above_is_found():
    solver, tracker = CORE / 'solvers' / 'bfgs.py', CORE / 'tracking' / 'tracker.py'
    batch, kernel = CORE / 'batch' / 'many_targets.py', CORE / 'kernels' / 'jit.py'
    assert breaches(solver, {solver: {kernel}}) == []
    assert breaches(tracker, {tracker: {solver, kernel, batch}}) == [batch]
    assert breaches(solver, {solver: {tracker}}) == [tracker]


def test_no_files_import_each_other():
    assert cycles(graph_of_all()) == []


@pytest.mark.parametrize('package', ORDERS)
def test_every_room_has_a_place_in_the_order_and_every_place_is_taken(package):
    rooms = {room_of(path)[1] for path in files_of(ROOT, package)}
    assert rooms == set().union(*ORDERS[package])


@sources('ik_core')
def test_imports_of_the_core_point_one_way(path):
    assert [str(other.relative_to(ROOT)) for other in breaches(path)] == []


@sources('ik_core/tracking')
def test_imports_of_the_tracker_point_from_the_solution_to_goals_and_governor(path):
    floors = {room: floor for floor, rooms in enumerate(TRACKING) for room in rooms}
    rooms = {
        other: other.relative_to(CORE / 'tracking').with_suffix('').parts[0]
        for other in [path, *graph_of_all()[path]]
        if other.is_relative_to(CORE / 'tracking')
    }
    own = rooms.pop(path)
    assert [room for room in rooms.values() if room != own and floors[room] >= floors[own]] == []


@sources('ik_node')
def test_imports_of_the_node_point_one_way(path):
    assert [str(other.relative_to(ROOT)) for other in breaches(path)] == []


@sources('ik_viewer')
def test_imports_of_the_viewer_point_one_way(path):
    assert [str(other.relative_to(ROOT)) for other in breaches(path)] == []


@sources('ik_core')
def test_the_core_knows_neither_ros_nor_the_node_nor_the_viewer(path):
    starts_programs = room_of(path)[1] == 'cli' or path in DRAWN_ABOVE
    named = () if starts_programs else names_in_strings(path, ROOT)
    names = {name.split('.')[0] for name in (*imports_of(path), *named)}
    assert not names & {*MESSAGES, 'ik_node', 'ik_viewer'}


@sources('ik_core', 'ik_node', 'ik_viewer')
def test_nothing_that_is_installed_imports_the_benchmark(path):
    assert 'benchmark' not in {name.split('.')[0] for name in imports_of(path)}


@sources('ik_viewer')
def test_the_viewer_knows_the_node_by_topics_only_and_ros_in_one_room(path):
    names = {name.split('.')[0] for name in imports_of(path)}
    assert 'ik_node' not in names
    assert room_of(path)[1] == 'ros' or not names & {*MESSAGES}


@sources('ik_node')
def test_the_node_does_not_need_the_viewer(path):
    assert 'ik_viewer' not in {name.split('.')[0] for name in imports_of(path)}


def test_no_two_files_of_tests_have_the_same_name():
    """pytest takes the second for the first, and refuses to run at all."""
    paths = (ROOT / 'test').rglob('test_*.py')
    names = sorted(path.name for path in paths if not (path.parent / '__init__.py').exists())
    assert [one for one, next_one in itertools.pairwise(names) if one == next_one] == []


def names_from_modules(path):
    """Names that the __init__ of a package imports from its modules."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            yield from (alias.asname or alias.name for alias in node.names)


@pytest.mark.parametrize('path', sorted(CORE.rglob('__init__.py')), ids=lambda p: p.parent.name)
def test_a_package_has_no_function_with_the_name_of_a_module(path):
    """Type checkers would see the module; which of the two others see depends on imports."""
    modules = {file.stem for file in path.parent.iterdir()}
    assert modules.isdisjoint(names_from_modules(path))


def solver_files():
    """The files that define a solver, registered or not; what they share is none."""
    files = sorted((CORE / 'solvers').glob('*.py'))
    return [path for path in files if '\n    name: ClassVar[str] = ' in path.read_text()]


def test_every_registered_solver_has_a_file_of_its_own():
    import ik_core

    modules = [solver.__module__.split('.')[-1] for solver in ik_core.SOLVERS.values()]
    assert len(set(modules)) == len(modules)
    assert set(modules) <= {path.stem for path in solver_files()}
    assert all(name == solver.name for name, solver in ik_core.SOLVERS.items())


@pytest.mark.parametrize('path', solver_files(), ids=lambda p: p.stem)
def test_a_solver_imports_no_other_solver(path):
    others = {p.stem for p in solver_files()} - {path.stem}
    for name in imports_of(path):
        parts = name.split('.')
        assert parts[:2] != ['ik_core', 'solvers'] or len(parts) < 3 or parts[2] not in others
        assert name != 'ik_core.solvers.SOLVERS'


@sources('ik_node')
def test_the_node_uses_only_what_is_not_private(path):
    for name in imports_of(path):
        if name.startswith('ik_core.'):
            assert not any(part.startswith('_') for part in name.split('.')[1:]), name


def run(code):
    """Return a fresh interpreter's output; without numba, since nothing here needs to compile."""
    environment = {**os.environ, 'PYTHONPATH': python_path(ROOT), 'NUMBA_DISABLE_JIT': '1'}
    done = subprocess.run(
        [sys.executable, '-c', code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_core_imports_and_solves_where_no_ros_is():
    blocked = f'import sys\nfor name in {MESSAGES!r}:\n    sys.modules[name] = None\n'
    solve = (
        'import ik_core as ik\n'
        f'robot = ik.load_robot({str(ROOT / "urdf" / "scara.urdf")!r})\n'
        'pose = robot.forward_kinematics([.3, .4, .05, 0], "tool")\n'
        'goal = ik.PositionTask("tool", pose[:3, 3])\n'
        'print(ik.solve(ik.IkProblem(robot, [goal])).success)\n'
    )
    assert run(blocked + solve).strip() == 'True'


@pytest.mark.parametrize('program', ['import ik_core', 'ik --help'])
def test_a_start_imports_only_what_it_needs(program):
    """Names of modules, not times: whoever asks for help, or imports one name, waits for these."""
    code = 'import sys\nimport ik_core\n'
    if program == 'ik --help':
        code += (
            'from ik_core.cli.main import main\n'
            'try:\n    main(["--help"])\nexcept SystemExit:\n    pass\n'
        )
    heavy = (
        'numba', 'numpy', 'scipy', 'matplotlib', 'multiprocessing', 'yaml', 'urdf_parser_py',
        'ik_core.robot', 'ik_core.solvers', 'ik_core.tracking', 'ik_core.batch', 'rclpy',
    )  # fmt: skip
    code += f'print(*(name for name in {heavy!r} if name in sys.modules), sep=",")\n'
    assert run(code).splitlines()[-1] == ''


def test_importing_the_core_imports_neither_scipy_nor_what_only_a_command_needs():
    code = (
        'import sys\n'
        'sys.modules["numba"] = None  # numba imports scipy itself\n'
        'import ik_core\n'
        'for name in ik_core.__all__:\n    getattr(ik_core, name)\n'
        'heavy = ("multiprocessing",'
        ' "scipy", "ik_core.cli", "benchmark", "matplotlib", "pinocchio")\n'
        'print([name for name in heavy if name in sys.modules])\n'
    )
    assert run(code).strip() == '[]'


def test_the_public_names_are_there_and_sorted():
    import ik_core

    for name in ik_core.__all__:
        assert getattr(ik_core, name) is not None
    assert len(set(ik_core.__all__)) == len(ik_core.__all__)
    promised = {'load_robot', 'Robot', 'PoseTask', 'PositionTask', 'OrientationTask', 'AxisTask',
                'IkProblem', 'IkResult', 'IkStatus', 'Budget', 'solve', 'make_solver', 'SOLVERS',
                'IkError', 'UrdfError', 'FrameNotFound', 'InvalidOption', 'InvalidGoal',
                'UnsupportedProblem'}  # fmt: skip
    assert promised <= set(ik_core.__all__)


def test_threads_may_use_names_for_the_first_time_together():
    code = """
import threading, ik_core as ik
failed, ready = [], threading.Barrier(4)
def use(name):
    ready.wait()
    try:
        getattr(ik, name)
    except BaseException as error:
        failed.append(error)
names = 'IkProblem', 'PoseTask', 'solve', 'load_robot'
threads = [threading.Thread(target=use, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
"""
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
