# SPDX-License-Identifier: Apache-2.0
"""Checks of shell lines in the documentation against the code.

`check` knows every command that the pages use; one that it does not know is an error, so that no
line goes unchecked. Lines of ROS need rclpy: `needs_ros`.
"""

import ast
import importlib
import importlib.util
import itertools
import re
import shlex

import pytest
import yaml

from benchmark import runner
from ik_core.cli.main import _parser, _shield_negative_numbers
from ik_core.cli.programs import PROGRAMS
from support.places import ROOT

# Programs of others, whose arguments nothing here can check
FREE = {
    *('rosdep', 'colcon', 'source', 'sudo', 'git', 'cd', 'xacro', 'eval', 'python3', 'export'),
    *(
        'catkin_generate_changelog',
        'catkin_prepare_release',
        'git-bloom-config',
        'git-bloom-release',
    ),
}
COMMANDS = set(re.findall(r"'(ik\w*) = ", (ROOT / 'setup.py').read_text('utf-8')))
TARGETS = set(re.findall(r'^(\w+):', (ROOT / 'Makefile').read_text('utf-8'), re.M))
VARIABLES = set(re.findall(r'\b([A-Z_]+)\b', (ROOT / 'Makefile').read_text('utf-8')))
EXTRAS = set(re.findall(r"^        '([\w-]+)': ", (ROOT / 'setup.py').read_text('utf-8'), re.M))
VIEWER = set(
    re.findall(
        r"'(\w+)[~=.\d]*'",
        re.search(r"'viewer': \[(.*)\]", (ROOT / 'setup.py').read_text('utf-8'))[1],
    )
)
PER_ROBOT = re.compile(
    r'joint_limits\.\w+\.(lower|upper|velocity|acceleration|jerk|following_error)'
    r'|tools\.\w+\.(xyz|rpy)|goal_(kind|frame)\.\w+|state_tolerance\.\w+|home\.\w+'
)
# Programs of other packages, whose arguments nothing here can check
OTHERS = {
    ('tf2_ros', 'static_transform_publisher'),
    ('joy', 'game_controller_node'),
    ('teleop_twist_joy', 'teleop_node'),
}
NODE = '/ik_node'


def commands(block):
    """The commands of a block, each as a list of words; comments and line ends apart."""
    text = block.text.replace('\\\n', ' ')
    lines = (shlex.split(line, comments=True) for line in text.splitlines())
    return [words for words in lines if words]


def needs_ros(words):
    """Return whether checking this command needs rclpy."""
    return words[0] in ('ros2', 'chrt', 'ik_node') or words[:2] == ['ik', 'node']


def check(words):
    """Raise where a command is not one that works."""
    program, *rest = words
    if program in FREE:
        return
    if program.startswith('.ci/'):
        assert (ROOT / program).is_file(), program
        return
    checks = {'make': make, 'pip': pip, 'ik': ik, 'ik_node': node, 'ros2': ros2, 'chrt': chrt}
    assert program in checks, f'{program}: is it in support/shell_lines.py?'
    checks[program](rest)


def make(words):
    """A target and variables of the Makefile."""
    for word in words:
        variable, assigned, _ = word.partition('=')
        assert variable in (VARIABLES if assigned else TARGETS), word


def pip(words):
    """Installing this package with extras that there are, or what the viewer needs."""
    command, package = words[0], words[-1]
    if set(words[1:]) == VIEWER:
        return
    extras = re.fullmatch(r'(?:\.|ik_node)(?:\[([\w,-]+)\])?', package)
    assert command == 'install'
    assert extras, words
    assert set(filter(None, (extras[1] or '').split(','))) <= EXTRAS, package


def ik(words):
    """Arguments that `ik` takes."""
    if '--help' in words or '--version' in words:
        return
    if words[0] in PROGRAMS:
        PROGRAM_CHECKS[words[0]](words[1:])
    else:
        _parser().parse_args(_shield_negative_numbers(words))


def viewer(module):
    """The check of a program of ik_viewer: by its own parser, where viser is installed."""

    def check_program(words):
        pytest.importorskip('viser')
        importlib.import_module(module)._parser().parse_args(words)

    return check_program


def chrt(words):
    """chrt -f PRIORITY, then another command."""
    assert words[0] == '-f'
    assert words[1].isdigit()
    check(words[2:])


def node(words):
    """A robot, and parameters that there are."""
    for before, word in itertools.pairwise(words):
        if before == '-p':
            name, value = word.split(':=', 1)
            parameter(name, value)


def ros2(words):
    """A verb of ros2, with names that the node has."""
    verb, *rest = words
    verbs = {
        'run': run,
        'launch': launch,
        'topic': topic,
        'service': service,
        'param': param,
        'lifecycle': about_node,
        'node': about_node,
    }
    assert verb in verbs, verb
    verbs[verb](rest)


def run(words):
    """A program of this package, or one of `OTHERS`."""
    package, program, *rest = words
    if (package, program) in OTHERS:
        return
    assert package == 'ik_node'
    assert program in COMMANDS, program
    checks = {'ik': ik, 'ik_node': node, 'ik_viewer': viewer('ik_viewer.main')}
    checks[program](rest)


def launch(words):
    """A launch file of this package, with arguments that it takes."""
    package, file, *arguments = words
    assert package == 'ik_node'
    known = launch_arguments(ROOT / 'launch' / file)
    for word in arguments:
        name, assigned, _ = word.partition(':=')
        assert (name in known) if assigned else (word == '--show-args'), f'{file}: {word}'


def launch_arguments(path):
    """The arguments that a launch file declares, itself or by including ik.launch.py."""
    found = set()
    text = path.read_text('utf-8')
    for part in ast.walk(ast.parse(text)):
        if isinstance(part, ast.Tuple) and len(part.elts) == 3:
            found |= {e.value for e in part.elts[:1] if isinstance(e, ast.Constant)}
    found |= set(re.findall(r"DeclareLaunchArgument\('(\w+)'", text))
    found |= set(re.findall(r"'(\w+)': '", text))
    if "'ik.launch.py'" in text and path.name != 'ik.launch.py':
        found |= launch_arguments(path.with_name('ik.launch.py'))
    return found


def relative(name):
    """A resolved name of the pages' node as the interface page calls it."""
    name = re.sub('^/(left|right)/', '/', name)  # the namespaces of several_robots.md
    name = re.sub(r'^/(?:left|right)_palm/', '<tip>/', name)  # and its tips
    return f'~/{name.removeprefix(NODE + "/")}' if name.startswith(NODE + '/') else name.strip('/')


def topic(words):
    """A topic of the node, with its type and a message that this type takes."""
    from ik_node.tools.interface_page import PUBLISHERS, SUBSCRIPTIONS

    verb, *rest = _without_options(words)
    endpoints = {'pub': SUBSCRIPTIONS, 'echo': PUBLISHERS, 'hz': PUBLISHERS}[verb]
    kinds = {endpoint.name: endpoint.kind for endpoint in endpoints}
    assert relative(rest[0]) in kinds, rest[0]
    if verb == 'pub':
        assert kinds[relative(rest[0])] == rest[1]
        fill(interface(rest[1]), yaml.safe_load(rest[2]))


def service(words):
    """A service of the node, with its type and a request that this type takes."""
    from ik_node.tools.interface_page import SERVICES

    _, name, kind, *request = words
    assert {endpoint.name: endpoint.kind for endpoint in SERVICES}[relative(name)] == kind
    values = yaml.safe_load(request[0]) if request else {}
    if importlib.util.find_spec(kind.partition('/')[0]):  # moveit_msgs are not everywhere
        fill(interface(kind).Request, values)


def param(words):
    """A parameter of the node with a value that it takes."""
    verb, owner, name, *value = words
    assert owner == NODE
    assert verb in ('set', 'get', 'describe')
    parameter(name, *value)


def about_node(words):
    """get, info, ... of the node."""
    assert words[-1] == NODE or words[-2] == NODE, words


def parameter(name, value=None):
    """A parameter with a value that it takes, as ROS reads it."""
    from ik_node.parameters.specs import fixed_specs
    from ik_node.tools.interface_page import SUBSCRIPTIONS

    if PER_ROBOT.fullmatch(name):
        return
    overridden = re.fullmatch(r'qos_overrides\.(/[\w/]+)\.subscription\.reliability', name)
    if overridden:
        assert relative(overridden[1]) in {each.name for each in SUBSCRIPTIONS}, name
        assert value is None or yaml.safe_load(value) in ('reliable', 'best_effort'), value
        return
    specs = {spec.name: spec for spec in fixed_specs()}
    assert name in specs, f'no parameter {name}'
    assert value is None or specs[name].accepts(yaml.safe_load(value)), f'{name} := {value}'


def interface(kind):
    """The class of a message or service such as std_srvs/srv/Trigger."""
    package, folder, name = kind.split('/')
    return getattr(importlib.import_module(f'{package}.{folder}'), name)


def fill(kind, values):
    """Set the fields of a message from nested dictionaries; it checks names and types."""
    message = kind() if isinstance(kind, type) else kind
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        else:
            as_given = isinstance(value, list)  # array() takes no list without a type
            setattr(message, name, value if as_given else type(getattr(message, name))(value))
    return message


def _without_options(words):
    """Words without options and their values."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ('--rate', '--qos-profile', '-r'):
            skip = True
        elif not word.startswith('--'):
            kept.append(word)
    return kept


# Programs that `ik` starts without parsing their arguments
PROGRAM_CHECKS = {
    'view': viewer('ik_viewer.view'),
    'play': viewer('ik_viewer.play.command'),
    'node': node,
    'demo': lambda words: None,
    'bench': lambda words: runner._parser().parse_args(words),
}
