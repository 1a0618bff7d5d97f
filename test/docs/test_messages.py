# SPDX-License-Identifier: Apache-2.0
"""Every message that the troubleshooting page quotes is really said: each is provoked here."""

import re

import numpy as np
import pytest
from support.places import ROOT, URDF

import ik_core as ik
from ik_core.cli.reach import check_drawable
from ik_core.robot.linkages import linkage

PAGE = (ROOT / 'docs' / 'troubleshooting.md').read_text('utf-8')
QUOTED = re.findall(r'^- `(.+)`\n\n  ', PAGE, re.M)
TIP = 'panda_hand_tcp'
ONE_JOINT = """<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">
<parent link="a"/><child link="b"/>{}</joint></robot>"""


def fits(quoted, said):
    """Return whether a quotation, `...` for anything, stands in what was said."""
    parts = [re.escape(part) for part in quoted.split('...')]
    return re.search('(.|\n)*?'.join(parts), said) is not None


def panda(*tasks, **options):
    return ik.IkProblem(ik.load_urdf('panda'), tasks, **options)


def down(position=(0.4, 0.2, 0.5)):
    return ik.PoseTask(TIP, position, [1, 0, 0, 0])


def backwards():
    return ik.load_urdf(ONE_JOINT.format('<limit lower="1" upper="-1" velocity="1" effort="1"/>'))


def constrained():
    return ik.solve(
        panda(down(), constraints=[ik.robot.LinearConstraint({'panda_joint1': 1}, upper=1)])
    )


def in_a_cone():
    cone = ik.robot.ReachCone.sinus(
        'panda_link2', 'panda_link0', [0, 0, 1], [0, 0, 1], [1, 0, 0], 1
    )
    return ik.solve(panda(down(), constraints=[cone]))


RAISED = {
    'drawing needs matplotlib': lambda: without_matplotlib(),
    'no robot': lambda: ik.load_urdf('pnda'),
    "can't read": lambda: ik.load_urdf('absent.urdf'),
    'this is xacro': lambda: ik.load_urdf(
        '<robot xmlns:xacro="http://x"><xacro:property/></robot>'
    ),
    'needs <limit': lambda: ik.load_urdf(ONE_JOINT.format('')),
    'is above upper': backwards,
    'DOCTYPE': lambda: ik.load_urdf('<!DOCTYPE x><robot name="r"><link name="a"/></robot>'),
    'longest chains': lambda: ik.load_urdf('dual_arm').default_tip(),
    'has no link': lambda: panda(ik.PoseTask('panda_han')),
    'has no movable joint': lambda: panda(down(), frozen_joints=['joint1']),
    'q0 has shape': lambda: ik.solve(panda(down()), np.zeros(7)),
    'is not a rotation matrix': lambda: ik.PoseTask(TIP, transform=np.diag([1, 1, 1.001, 1])),
    'is zero; (0, 0, 0, 1)': lambda: ik.PoseTask(TIP, [0, 0, 0], [0, 0, 0, 0]),
    'give it one with set_target': lambda: ik.solve(panda(ik.PoseTask(TIP))),
    'moves link': lambda: panda(ik.PoseTask('panda_link0')),
    'unknown solver': lambda: ik.make_solver('lm'),
    'linear constraints': constrained,
    'reach cones': in_a_cone,
    'infinitely many': lambda: ik.solve_all(panda(down())),
}


def note_of_a_planar_arm():
    goal = ik.PositionTask('tip', [1.0, 0.0, 0.5])
    return ik.solve(ik.IkProblem(linkage(3), [goal])).note


def note_of_a_scara():
    goal = ik.PositionTask('tool', [0.3, 0.2, 0.1])
    scara = ik.load_urdf('scara')
    return ik.solve(ik.IkProblem(scara, [goal], frozen_joints=['joint_3'])).note


SENTENCES = {
    'no joint moves': note_of_a_planar_arm(),
    'is frozen': note_of_a_scara(),
    'this is a closest point': ik.IkStatus.CLOSEST.value,
    'fewer joints than the goal asks for': ik.IkStatus.TOO_FEW_JOINTS.value,
    'makes no more progress': ik.IkStatus.STALLED.value,
}
# By scripts/environment and setup.py; test_package.py provokes them
IN_SCRIPTS = ('no venv module', 'there are no rclpy wheels', 'is sourced', 'are not compiled')
OF_STATES = {
    'waiting for a robot': 'NO_MODEL',
    'waiting for /clock': 'WAITING_FOR_CLOCK',
    'waiting for joint_states': 'WAITING_FOR_STATE',
    'joint_states stopped': 'STATE_LOST',
    'does not follow': 'NOT_FOLLOWING',
    'blocks the way': 'BLOCKED',
}
IN_THE_LOG = (
    'no acceleration limit',
    'unknown frame',
    'the quaternion ... is zero',
    's old; the frame',
    's newer than',
    'goal not reached',
    'other publishers',
    'nothing of',
)
OF_THE_ROBOT = ('rests beside its command', 'stood still', 'waiting for joint_states of')
OF_PIP = ('externally-managed-environment',)
ELSEWHERE = ('there is no parameter', 'has velocity', 'can not move to')


def without_matplotlib():
    """As where it is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__('sys').modules, 'matplotlib.figure', None)
        check_drawable(ROOT / 'x.png')


def quoted(part):
    """The quotation of the page that is this, else the one with this in it."""
    (found,) = [text for text in QUOTED if text == part] or (t for t in QUOTED if part in t)
    return found


def test_every_quotation_is_provoked_here():
    ours = [*RAISED, *SENTENCES, *IN_SCRIPTS, *OF_STATES, *IN_THE_LOG, *OF_THE_ROBOT]
    assert sorted(map(quoted, [*ours, *OF_PIP, *ELSEWHERE])) == sorted(QUOTED)


@pytest.mark.parametrize('part', RAISED)
def test_errors_say_what_the_page_quotes(part):
    with pytest.raises(Exception) as caught:  # noqa: PT011  what it says is looked at below
        RAISED[part]()
    assert fits(quoted(part), str(caught.value)), str(caught.value)


@pytest.mark.parametrize('part', SENTENCES)
def test_a_status_says_what_the_page_quotes(part):
    assert fits(quoted(part), SENTENCES[part])


@pytest.mark.parametrize('part', IN_SCRIPTS)
def test_the_scripts_say_what_the_page_quotes(part):
    scripts = (ROOT / name for name in ('scripts/environment', 'setup.py'))
    script = re.sub(r'["\\\s]+', ' ', ' '.join(path.read_text('utf-8') for path in scripts))
    words = [word for word in re.split(r'\.\.\.|[^\w ]', quoted(part)) if word.strip()]
    assert all(word.strip() in script for word in words)


@pytest.mark.parametrize('part', OF_STATES)
def test_the_node_s_states_say_what_the_page_quotes(part):
    pytest.importorskip('rclpy')
    from ik_node.outputs.codes import StatusCode

    assert StatusCode[OF_STATES[part]].text == quoted(part)


def test_a_misspelt_parameter_is_refused_as_quoted():
    pytest.importorskip('rclpy')
    from support.node_harness import node_process, unique_namespace

    with node_process(unique_namespace(), '-p', 'rat:=1.0') as process:
        said = process.communicate(timeout=300)[0]
    assert process.returncode == 2
    assert fits(quoted('there is no parameter'), said)


def test_a_limit_that_a_joint_can_not_have_is_refused_as_quoted():
    pytest.importorskip('rclpy')
    from ik_node.parameters.names import misspelt
    from ik_node.parameters.specs import limit_specs

    known = [spec.name for spec in limit_specs(ik.load_urdf('panda'))]
    said = misspelt('joint_limits.panda_finger_joint2.lower', known)
    assert fits(quoted('has velocity'), said)


def test_a_mimic_joint_that_can_not_get_into_line_is_refused_as_quoted():
    pytest.importorskip('rclpy')
    from support.mimic_arm import arm, joint, mimics
    from support.node_harness import snapshot

    from ik_node.robot_model import Model

    robot = ik.load_urdf(arm('far', f1=joint(), f2=joint(mimics('f1', offset=4.0))))
    with pytest.raises(ik.UrdfError) as caught:
        Model(robot, snapshot(tip_links=('tip',)), {'f1': 0.0, 'f2': 0.0})
    assert fits(quoted('can not move to'), str(caught.value))


def test_the_node_s_log_says_what_the_page_quotes():
    pytest.importorskip('rclpy')
    from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState
    from support.node_harness import Client, node_process, printed, unique_namespace

    client = Client(unique_namespace())
    robot = ('-p', f'urdf_path:={URDF / "panda.urdf"}', '-p', f'tip_links:={TIP}')
    zero, far = Pose(orientation=Quaternion(w=0.0)), Pose(position=Point(x=5.0))
    provoke = {
        'no acceleration limit': lambda: None,
        'unknown frame': lambda: client.send_goal(Pose(), frame='nowhere'),
        'the quaternion ... is zero': lambda: client.send_goal(zero),
        's old; the frame': lambda: client.send_goal(Pose(), frame=TIP, seconds=-100),
        's newer than': lambda: client.send_goal(Pose(), frame=TIP, seconds=100),
        'goal not reached': lambda: client.send_goal(far),
        'other publishers': lambda: client.publisher(JointState, 'joint_states'),
        'nothing of': lambda: client.node.create_publisher(
            PoseStamped, 'goal_pose_2d', qos_profile_sensor_data
        ),
    }
    assert set(provoke) == set(IN_THE_LOG)
    with node_process(client.namespace, *robot) as process, printed(process) as said:
        client.until(lambda: client.states, 'no joint states')
        for part, act in provoke.items():
            act()
            client.until(lambda part=part: fits(quoted(part), ''.join(said)), part)
    client.close()


@pytest.fixture
def panda_world():
    """The Panda in a simulated world, before the node starts."""
    pytest.importorskip('rclpy')
    from support.simulated_world import World

    robot = ik.load_urdf('panda')
    return World(robot, robot.middle_configuration, tip_links=(TIP,))


def test_a_robot_that_sags_is_logged_as_quoted(panda_world):
    it = panda_world
    it.sag[1] = -0.05
    it.until(lambda: any(fits(quoted('rests beside its command'), t) for t in it.node.logged))


def test_a_process_that_stands_still_is_warned_of_as_quoted(panda_world):
    it = panda_world
    it.until(lambda: it._running)
    it.hang = 160
    it.until(lambda: any(fits(quoted('stood still'), text) for _, text in it.health.warnings))


def test_joint_states_of_another_robot_are_named_as_quoted():
    pytest.importorskip('rclpy')
    from sensor_msgs.msg import JointState
    from support.node_harness import Client, node_process, printed, unique_namespace

    client = Client(unique_namespace())
    robot = ('-p', f'urdf_path:={URDF / "panda.urdf"}', '-p', 'output:=joint_trajectory')
    states = client.publisher(JointState, 'joint_states')
    with node_process(client.namespace, *robot) as process, printed(process) as said:

        def named():
            states.publish(JointState(name=['left_panda_joint1'], position=[0.0]))
            return fits(quoted('waiting for joint_states of'), ''.join(said))

        client.until(named, 'no line')
    assert 'waiting for joint_states of panda_joint1' in ''.join(said)
    assert 'joint_states name left_panda_joint1, which this robot has not' in ''.join(said)
    client.close()
