"""Imports point one way, the core knows no ROS, and importing it is light."""

import ast
import os
import subprocess
import sys

import pytest
from support.places import ROOT
from support.robots import python_path

CORE = ROOT / 'ik_core'

# From the bottom up; what stands in one set may import each other.
LAYERS = [
    {'exceptions', '_jit'},
    {'options', 'maths'},
    {'robot'},
    {'result'},
    {'tasks'},
    {'problem'},
    {'optim'},
    {'solvers'},
    {'tracking', 'batch'},
    {'analysis'},
    {'__init__'},
    {'bench'},
    {'cli'},
    {'__main__'},
]
LAYER = {name: i for i, names in enumerate(LAYERS) for name in names}

MESSAGES = ('rclpy', 'std_msgs', 'std_srvs', 'geometry_msgs', 'sensor_msgs', 'trajectory_msgs',
            'visualization_msgs', 'diagnostic_msgs', 'lifecycle_msgs', 'rcl_interfaces',
            'builtin_interfaces', 'moveit_msgs', 'tf2_ros', 'tf2_msgs', 'launch', 'launch_ros',
            'interactive_markers', 'ament_index_python', 'rosgraph_msgs')  # fmt: skip


def is_type_checking(node):
    return isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.dump(node.test)


def walk(node):
    """All nodes that run: not those below `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            for other in child.orelse:
                yield from walk(other)
        else:
            yield child
            yield from walk(child)


def imports_of(path):
    """Full dotted names of the modules and names that a file of ours imports."""
    package = path.relative_to(ROOT).with_suffix('').parts
    for node in walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level]) if node.level else []
            base += node.module.split('.') if node.module else []
            yield '.'.join(base)
            yield from ('.'.join([*base, alias.name]) for alias in node.names)


def sources(package):
    return sorted((ROOT / package).rglob('*.py'))


def part_of(dotted):
    """The part of ik_core that a dotted name means: its module or sub-package."""
    return dotted.split('.')[1] if '.' in dotted else '__init__'


def part_of_file(path):
    return path.relative_to(CORE).with_suffix('').parts[0]


def core_imports(path):
    for name in imports_of(path):
        if name.split('.')[0] == 'ik_core':
            part = part_of(name)
            if part in LAYER:
                yield part


def test_the_scan_sees_imports_of_all_forms(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], 'ROOT', tmp_path)
    path = tmp_path / 'ik_core' / 'tasks' / 'sample.py'
    path.parent.mkdir(parents=True)
    path.write_text(
        'import numpy as np\n'
        'from . import base\n'
        'from ..robot.robot import Robot\n'
        'from .. import optim\n'
        'import ik_core.solvers\n'
        'if TYPE_CHECKING:\n    from ..problem import IkProblem\n'
        'def late():\n    from ..robot.limits import JointLimits\n'
    )
    found = set(imports_of(path))
    assert {
        'numpy',
        'ik_core.tasks.base',
        'ik_core.robot.robot',
        'ik_core.optim',
        'ik_core.solvers',
        'ik_core.robot.limits',
    } <= found
    assert not any('problem' in name for name in found)


@pytest.mark.parametrize('path', sources('ik_core'), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    part = part_of_file(path)
    assert part in LAYER, f'{part} has no place in the order of imports; add it to LAYERS'
    for imported in core_imports(path):
        allowed = LAYER[imported] <= LAYER[part]
        assert allowed, f'{path.name} ({part}) imports {imported}, which stands above it'


@pytest.mark.parametrize('path', sources('ik_core'), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_core_knows_neither_ros_nor_the_node(path):
    names = {name.split('.')[0] for name in imports_of(path)}
    assert not names & {*MESSAGES, 'ik_node'}


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


@pytest.mark.parametrize('path', sources('ik_node'), ids=lambda p: p.name)
def test_the_node_uses_only_what_is_not_private(path):
    for name in imports_of(path):
        if name.startswith('ik_core.'):
            assert not any(part.startswith('_') for part in name.split('.')[1:]), name


def run(code):
    """What a fresh interpreter prints; numba off, since nothing here needs to compile."""
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
        f'robot = ik.load_urdf({str(ROOT / "urdf" / "scara.urdf")!r})\n'
        'pose = robot.forward_kinematics([.3, .4, .05, 0], "tool")\n'
        'goal = ik.PositionTask("tool", pose[:3, 3])\n'
        'print(ik.solve(ik.IkProblem(robot, [goal])).success)\n'
    )
    assert run(blocked + solve).strip() == 'True'


def test_importing_the_core_imports_neither_scipy_nor_what_only_a_command_needs():
    code = (
        'import sys\n'
        'sys.modules["numba"] = None  # numba imports scipy itself\n'
        'import ik_core\n'
        'heavy = ("scipy", "ik_core.cli", "ik_core.bench", "matplotlib", "pinocchio")\n'
        'print([name for name in heavy if name in sys.modules])\n'
    )
    assert run(code).strip() == '[]'


def test_the_public_names_are_there_and_sorted():
    import ik_core

    for name in ik_core.__all__:
        assert getattr(ik_core, name) is not None
    assert len(set(ik_core.__all__)) == len(ik_core.__all__)
    promised = {'load_urdf', 'Robot', 'PoseTask', 'PositionTask', 'OrientationTask', 'AxisTask',
                'IkProblem', 'IkResult', 'IkStatus', 'Budget', 'solve', 'make_solver', 'SOLVERS',
                'IkError', 'UrdfError', 'FrameNotFound', 'InvalidOption', 'InvalidGoal',
                'UnsupportedProblem'}  # fmt: skip
    assert promised <= set(ik_core.__all__)
