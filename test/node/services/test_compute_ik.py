# SPDX-License-Identifier: Apache-2.0
"""compute_ik: what it solves, what it refuses and with which of MoveIt's codes.

Requests are the real messages where moveit_msgs is installed, else classes with the same fields;
the service itself is called where it is installed.
"""

import importlib
import importlib.util
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace as Fields

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Pose, PoseStamped
from lifecycle_msgs.msg import Transition
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool
from support.moveit_messages import matrix, thing
from support.moveit_messages import message as scene_message
from support.node_harness import (
    DOMAIN,
    URDF,
    load,
    overrides,
    reachable_goal,
    unique_namespace,
    world,
)

import ik_core as ik
from ik_core import IkStatus
from ik_core.collision import Box
from ik_node.conversions import transform_to_pose
from ik_node.inputs.goal_frames import Frames, Pending
from ik_node.inputs.scene_topics import (
    COMPONENTS,
    DEPTH,
    SCENE_SERVICE,
    PatientFrames,
    SceneRequest,
    SceneTopics,
)
from ik_node.known_collisions import KnownCollisions
from ik_node.parameters.node_options import NodeOptions, NodeParameters
from ik_node.parameters.store import Parameters
from ik_node.robot_model import Model
from ik_node.scene_reader import SceneReader
from ik_node.services.compute_ik import (
    LONGEST_TIMEOUT,
    ComputeIk,
    Declined,
    MoveItErrorCode,
    read_request,
    write_response,
)

HAS_MOVEIT = importlib.util.find_spec('moveit_msgs') is not None
needs_moveit = pytest.mark.skipif(not HAS_MOVEIT, reason='moveit_msgs is not installed')
TIP, GROUP = 'panda_hand_tcp', 'panda'
NODE = 'ik_node_compute_ik'


def new_request():
    """An empty moveit_msgs/PositionIKRequest, or what has its fields."""
    if HAS_MOVEIT:
        return importlib.import_module('moveit_msgs.msg').PositionIKRequest()
    kinds = ('joint', 'position', 'orientation', 'visibility')
    return Fields(
        group_name='',
        robot_state=Fields(
            joint_state=JointState(),
            multi_dof_joint_state=MultiDOFJointState(),
            attached_collision_objects=[],
            is_diff=False,
        ),
        constraints=Fields(name='', **{f'{kind}_constraints': [] for kind in kinds}),
        avoid_collisions=False,
        ik_link_name='',
        pose_stamped=PoseStamped(),
        ik_link_names=[],
        pose_stamped_vector=[],
        timeout=Duration(),
    )


def new_response():
    """An empty response of moveit_msgs/GetPositionIK, or what has its fields."""
    if HAS_MOVEIT:
        return importlib.import_module('moveit_msgs.srv').GetPositionIK.Response()
    solution = Fields(joint_state=JointState(), multi_dof_joint_state=MultiDOFJointState())
    return Fields(solution=solution, error_code=Fields(val=0, message='', source=''))


def stamped(transform, frame=''):
    """A PoseStamped of a (4, 4) transform."""
    message = PoseStamped(pose=transform_to_pose(transform))
    message.header.frame_id = frame
    return message


@pytest.fixture(scope='module')
def make_model():
    """Makes the model of a robot in urdf/ as a node with these parameters has it."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    nodes = []

    def make(name, **parameters):
        robot = load(name)
        node = LifecycleNode(
            'ik_node',
            namespace=unique_namespace(),
            context=context,
            parameter_overrides=overrides(parameters),
        )
        nodes.append(node)
        settings = Parameters(node)
        settings.declare_robot(robot, parameters.get('tip_links', ()))
        return Model(robot, settings.take())

    yield make
    for node in nodes:
        node.destroy_node()
    context.try_shutdown()


@pytest.fixture(scope='module')
def panda(make_model):
    return make_model('panda', tip_links=[TIP], rate=500.0)


def scenes():
    return SceneReader(KnownCollisions())


def read(model, request, others=None, stopping=None):
    """Return a request as the service reads it."""
    frames = Frames(model.robot, model.base_link, others)
    patient = PatientFrames(frames, stopping or threading.Event())
    return read_request(request, model, patient, model.robot.name, scenes())


def ask(model, request, others=None, stopping=None):
    """The answer to a request, the way the service gives it."""
    stopping = stopping or threading.Event()
    response = new_response()
    result = read(model, request, others, stopping).solve(stopping)
    write_response(response, result, model)
    return response


def pose_of(model, response, link=TIP):
    """Return a link's pose in the solution."""
    state = response.solution.joint_state
    values = dict(zip(state.name, state.position, strict=True))
    q = [values[joint] for joint in model.robot.joint_names]
    assert values == model.robot.joint_values(q), 'mimic joints follow'
    limits = model.limits
    assert (np.array(q) >= limits.lower - 1e-12).all()
    assert (np.array(q) <= limits.upper + 1e-12).all()
    return model.robot.forward_kinematics(q, link)


def declined(model, request, *rest):
    """The code of a request that can't be honoured."""
    with pytest.raises(Declined) as caught:
        ask(model, request, *rest)
    assert str(caught.value)
    return caught.value.code


@pytest.mark.parametrize('number', range(5))
def test_a_pose_in_reach_is_reached(panda, number):
    goal = reachable_goal(panda.robot, TIP, number)
    request = new_request()
    request.group_name, request.pose_stamped = GROUP, stamped(goal, 'panda_link0')
    response = ask(panda, request)
    assert response.error_code.val == MoveItErrorCode.SUCCESS
    assert np.allclose(pose_of(panda, response), goal, atol=2e-4)
    assert response.solution.joint_state.header.frame_id == panda.robot.base_link


def test_with_the_solver_closed_form_it_is_the_solution_nearest_to_the_given_state(make_model):
    model = make_model('ur5e', solver='closed_form', tip_links=['tool0'])
    robot, rng = model.robot, np.random.default_rng(3)
    problem = ik.IkProblem(robot, [ik.PoseTask('tool0')])
    for _ in range(5):
        q, start = rng.uniform(-2.0, 2.0, (2, 6))
        goal = robot.forward_kinematics(q, 'tool0')
        problem.goals[0].set_target(goal)
        request = new_request()
        request.robot_state.joint_state = JointState(name=robot.joint_names, position=start)
        request.pose_stamped = stamped(goal)
        query = read(model, request)
        assert query.solver == 'closed_form'
        result = query.solve(threading.Event())
        np.testing.assert_allclose(result.q, ik.solve_all(problem, start)[0], atol=1e-7)
        assert result.note.startswith('closed form')
    request.pose_stamped.pose.position.x = 3.0
    assert 'out of reach for certain' in read(model, request).solve(threading.Event()).message


def test_a_solver_that_does_not_search_is_not_asked(make_model):
    model = make_model('ur5e', solver='jacobian_transpose', tip_links=['tool0'])
    request = new_request()
    request.pose_stamped = stamped(model.robot.forward_kinematics(np.full(6, 0.5), 'tool0'))
    assert read(model, request).solver == 'levenberg_marquardt'


def test_nothing_moves(panda):
    before = panda.tracker.q
    request = new_request()
    request.pose_stamped = stamped(reachable_goal(panda.robot, TIP, 3))
    ask(panda, request)
    assert (panda.tracker.q == before).all()
    assert panda.tracker.goals == [None]


def test_it_starts_from_the_given_state_and_from_the_command_where_none_is_given(panda):
    q = panda.robot.middle_configuration + 0.2
    q[-1] = 0.01  # a finger: no goal moves it
    request = new_request()
    request.robot_state.joint_state = JointState(name=panda.robot.joint_names, position=q)
    request.pose_stamped = stamped(panda.robot.forward_kinematics(q, TIP))
    state = ask(panda, request).solution.joint_state
    assert dict(zip(state.name, state.position, strict=True)) == panda.robot.joint_values(q)
    request.robot_state.joint_state = JointState(
        name=['panda_finger_joint2', 'panda_joint1'], position=[0.7, q[0]]
    )
    now = panda.tracker.q
    now[0] = q[0]
    request.pose_stamped = stamped(panda.robot.forward_kinematics(now, TIP))
    state = ask(panda, request).solution.joint_state
    assert dict(zip(state.name, state.position, strict=True)) == panda.robot.joint_values(now)


def test_a_frame_of_a_link_is_where_the_given_state_has_it(panda):
    q = panda.robot.middle_configuration
    q[0] = 1.0
    offset = np.eye(4)
    offset[:3, 3] = 0.4, 0.0, 0.2
    request = new_request()
    request.robot_state.joint_state = JointState(name=['panda_joint1'], position=[1.0])
    request.pose_stamped = stamped(offset, 'panda_link1')
    expected = panda.robot.forward_kinematics(q, 'panda_link1') @ offset
    assert np.allclose(pose_of(panda, ask(panda, request)), expected, atol=2e-4)


def test_another_link_than_the_tip(panda):
    goal = reachable_goal(panda.robot, 'panda_link5', 2)
    request = new_request()
    request.ik_link_name, request.pose_stamped = 'panda_link5', stamped(goal)
    response = ask(panda, request)
    assert response.error_code.val == MoveItErrorCode.SUCCESS
    assert np.allclose(pose_of(panda, response, 'panda_link5'), goal, atol=2e-4)


@pytest.mark.parametrize('named', [True, False])
def test_several_links_at_once(make_model, named):
    robot = load('dual_arm')
    tips = robot.tips()[:2]
    model = make_model('dual_arm', tip_links=tips)
    q = robot.middle_configuration + 0.15
    goals = [robot.forward_kinematics(q, tip) for tip in tips]
    request = new_request()
    if named:
        request.ik_link_names = tips[::-1]
        goals = goals[::-1]
    request.pose_stamped_vector = [stamped(goal) for goal in goals]
    response = ask(model, request)
    assert response.error_code.val == MoveItErrorCode.SUCCESS
    for tip, goal in zip(tips[::-1] if named else tips, goals, strict=True):
        assert np.allclose(pose_of(model, response, tip), goal, atol=2e-4)


def test_the_limits_are_those_of_the_node(make_model):
    model = make_model('panda', tip_links=[TIP], **{'joint_limits.panda_joint1.upper': 0.5})
    q = model.robot.middle_configuration
    q[0] = 1.5
    request = new_request()
    request.pose_stamped = stamped(model.robot.forward_kinematics(q, TIP))
    response = ask(model, request)
    if response.error_code.val == MoveItErrorCode.SUCCESS:
        pose_of(model, response)
        state = response.solution.joint_state
        assert state.position[list(state.name).index('panda_joint1')] <= 0.5
    else:
        assert response.error_code.val == MoveItErrorCode.NO_IK_SOLUTION


def test_joints_that_are_frozen_stay(make_model):
    model = make_model('panda', tip_links=[TIP], frozen_joints=['panda_joint3'])
    request = new_request()
    request.robot_state.joint_state = JointState(name=['panda_joint3'], position=[0.3])
    q = model.robot.middle_configuration + 0.1
    q[2] = 0.3
    request.pose_stamped = stamped(model.robot.forward_kinematics(q, TIP))
    response = ask(model, request)
    assert response.error_code.val == MoveItErrorCode.SUCCESS
    state = response.solution.joint_state
    assert state.position[list(state.name).index('panda_joint3')] == 0.3


def test_out_of_reach_there_is_no_solution(panda):
    goal = np.eye(4)
    goal[0, 3] = 5.0
    request = new_request()
    request.pose_stamped = stamped(goal)
    response = ask(panda, request)
    assert response.error_code.val == MoveItErrorCode.NO_IK_SOLUTION
    assert not response.solution.joint_state.name


def test_a_timeout_is_honoured(panda):
    goal = np.eye(4)
    goal[0, 3] = 5.0
    request = new_request()
    request.pose_stamped = stamped(goal)
    request.timeout = Duration(nanosec=1)
    assert ask(panda, request).error_code.val == MoveItErrorCode.TIMED_OUT
    for timeout, seconds in (
        (Duration(sec=2, nanosec=500_000_000), 2.5),
        (Duration(), 0.5),
        (Duration(sec=-3), 0.5),
        (Duration(sec=2**31 - 1), LONGEST_TIMEOUT),
    ):
        request.timeout = timeout
        assert read(panda, request).seconds == seconds


def stopped():
    """The event of a service that is being closed."""
    event = threading.Event()
    event.set()
    return event


def test_a_request_ends_when_the_service_is_closed(panda):
    goal = np.eye(4)
    goal[0, 3] = 5.0
    request = new_request()
    request.pose_stamped = stamped(goal)
    query = read(panda, request)
    assert query.solve(threading.Event()).status in (IkStatus.CLOSEST, IkStatus.STALLED)
    endless = replace(query, seconds=1e9, options={'restarts': 10**6})  # for minutes
    assert endless.solve(stopped()).status is IkStatus.TIME_LIMIT


class SlowTf:
    """Knows the frame map, where the root is, from the third time on that it is asked."""

    def __init__(self):
        self.asked = 0

    def lookup(self, target, source, stamp=0):
        self.asked += 1
        if self.asked < 3:
            raise Pending('unknown_frame', 'not yet')
        return np.eye(4)


def test_a_frame_that_is_not_known_yet_is_waited_for_unless_the_service_is_closed(panda):
    goal = reachable_goal(panda.robot, TIP, 2)
    request = new_request()
    request.pose_stamped = stamped(goal, 'map')
    assert np.allclose(pose_of(panda, ask(panda, request, SlowTf())), goal, atol=2e-4)
    code = declined(panda, request, SlowTf(), stopped())
    assert code == MoveItErrorCode.FRAME_TRANSFORM_FAILURE


def set_state(**fields):
    """Sets the joint state of a request."""
    return lambda request: setattr(request.robot_state, 'joint_state', JointState(**fields))


def set_field(name, value):
    """Sets a field of a request."""
    return lambda request: setattr(request, name, value)


def constrain(kind):
    """Gives a request a constraint."""

    def change(request):
        name = f'{kind.capitalize()}Constraint'
        one = importlib.import_module('moveit_msgs.msg') if HAS_MOVEIT else None
        constraint = getattr(one, name)() if one else object()
        setattr(request.constraints, f'{kind}_constraints', [constraint])

    return change


def set_pose(x=0.4, frame='', w=1.0):
    """Sets the pose of a request."""

    def change(request):
        request.pose_stamped = stamped(np.eye(4), frame)
        request.pose_stamped.pose.position.x = x
        request.pose_stamped.pose.orientation.w = w

    return change


def several_degrees(request):
    request.robot_state.multi_dof_joint_state.joint_names = ['base']


@pytest.mark.parametrize(
    ('change', 'code'),
    [
        (set_field('group_name', 'left_foot'), MoveItErrorCode.INVALID_GROUP_NAME),
        (constrain('joint'), MoveItErrorCode.INVALID_GOAL_CONSTRAINTS),
        (constrain('position'), MoveItErrorCode.INVALID_GOAL_CONSTRAINTS),
        (constrain('orientation'), MoveItErrorCode.INVALID_GOAL_CONSTRAINTS),
        (constrain('visibility'), MoveItErrorCode.INVALID_GOAL_CONSTRAINTS),
        (set_field('ik_link_name', 'nowhere'), MoveItErrorCode.INVALID_LINK_NAME),
        (set_field('ik_link_names', ['panda_link5', TIP]), MoveItErrorCode.INVALID_LINK_NAME),
        (set_pose(frame='nowhere'), MoveItErrorCode.FRAME_TRANSFORM_FAILURE),
        (set_pose(x=np.nan), MoveItErrorCode.INVALID_GOAL_CONSTRAINTS),
        (set_pose(w=0.0), MoveItErrorCode.INVALID_GOAL_CONSTRAINTS),
        (set_state(name=['panda_joint1'], position=[]), MoveItErrorCode.INVALID_ROBOT_STATE),
        (set_state(name=['nobody'], position=[0.0]), MoveItErrorCode.INVALID_ROBOT_STATE),
        (set_state(name=['panda_joint1'], position=[np.inf]), MoveItErrorCode.INVALID_ROBOT_STATE),
        (
            set_state(name=['panda_joint1'] * 2, position=[0.0, 0.0]),
            MoveItErrorCode.INVALID_ROBOT_STATE,
        ),
        (several_degrees, MoveItErrorCode.INVALID_ROBOT_STATE),
    ],
)
def test_what_can_not_be_honoured_is_refused(panda, change, code):
    request = new_request()
    request.pose_stamped = stamped(reachable_goal(panda.robot, TIP, 1))
    change(request)
    assert declined(panda, request) == code


def test_avoid_collisions_answers_with_links_that_do_not_meet(panda):
    """The hand beside the base: the nearest solution bends the arm into itself."""
    collisions, avoided = ik.Collisions(panda.robot, margin=0.0), 0
    rng = np.random.default_rng(4)
    lower, upper = panda.robot.lower, panda.robot.upper
    for _ in range(60):
        q = lower + rng.random(panda.robot.n) * (upper - lower)
        if collisions.free(q):
            continue
        request = new_request()
        request.pose_stamped = stamped(panda.robot.forward_kinematics(q, TIP))
        names = list(panda.robot.joint_names)
        request.robot_state.joint_state = JointState(name=names, position=q.tolist())
        assert pose_of(panda, ask(panda, request)) is not None
        request.avoid_collisions = True
        response = ask(panda, request)
        if response.error_code.val == MoveItErrorCode.SUCCESS:
            state = response.solution.joint_state
            values = dict(zip(state.name, state.position, strict=True))
            assert collisions.free([values[joint] for joint in names])
            avoided += 1
        else:
            assert response.error_code.val == MoveItErrorCode.NO_IK_SOLUTION
            assert 'every solution found collides' in response.error_code.message
    assert avoided > 3


def carried(link, *primitives, meshes=(), frame=None, touching=(), operation=b'\0', planes=()):
    """Return an object with the fields of a moveit_msgs/AttachedCollisionObject: 0.3 m along z of
    a frame."""
    pose = transform_to_pose(ik.transform(position=(0.0, 0.0, 0.3)))
    thing = Fields(
        header=Header(frame_id=link if frame is None else frame),
        pose=pose,
        id='thing',
        primitives=[Fields(type=kind, dimensions=sizes) for kind, sizes in primitives],
        primitive_poses=[Pose() for _ in primitives],
        meshes=[
            Fields(vertices=[Point(x=x, y=y, z=z) for x, y, z in points]) for points in meshes
        ],
        mesh_poses=[Pose() for _ in meshes],
        planes=list(planes),
        operation=operation,
    )
    return Fields(link_name=link, object=thing, touch_links=list(touching))


def attached(*things, avoid=True):
    """A request that carries things."""
    request = new_request()
    if HAS_MOVEIT:
        request.robot_state = Fields(
            joint_state=JointState(),
            multi_dof_joint_state=MultiDOFJointState(),
            attached_collision_objects=list(things),
            is_diff=False,
        )
    request.robot_state.attached_collision_objects = list(things)
    request.avoid_collisions = avoid
    return request


CORNERS = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.3, 0.3)]


@pytest.mark.parametrize(
    ('primitives', 'meshes', 'shape'),
    [
        ([(1, [0.2, 0.4, 0.6])], [], ik.collision.Box((0.2, 0.4, 0.6))),
        ([(2, [0.1])], [], ik.collision.Sphere(0.1)),
        ([(3, [0.6, 0.1])], [], ik.collision.Cylinder(0.1, 0.6)),
        ([], [CORNERS], None),
    ],
    ids=['box', 'sphere', 'cylinder', 'mesh'],
)
def test_attached_objects_are_carried(panda, primitives, meshes, shape):
    request = attached(
        carried('panda_hand', *primitives, meshes=meshes, touching=['panda_leftfinger'])
    )
    request.pose_stamped = stamped(reachable_goal(panda.robot, TIP, 1))
    (one,) = read(panda, request).problem.avoid.world
    assert (one.name, one.link, one.touching) == ('thing', 'panda_hand', ('panda_leftfinger',))
    np.testing.assert_allclose(one.pose, ik.transform(position=(0.0, 0.0, 0.3)), atol=1e-12)
    if shape is None:
        assert sorted(map(tuple, one.shape.points)) == sorted(CORNERS)
    else:
        assert one.shape == shape


def test_an_attached_object_in_another_frame_is_where_the_start_has_it(panda):
    q = panda.tracker.q
    request = attached(carried('panda_hand', (2, [0.05]), frame='panda_link0'))
    request.pose_stamped = stamped(reachable_goal(panda.robot, TIP, 1))
    (one,) = read(panda, request).problem.avoid.world
    at = panda.robot.forward_kinematics(q, 'panda_hand') @ one.pose
    np.testing.assert_allclose(at, ik.transform(position=(0.0, 0.0, 0.3)), atol=1e-9)


def test_an_attached_object_changes_the_answer(panda):
    """From configurations that are free but for a ball in front of the hand."""
    robot, world, avoided = panda.robot, ik.World(), 0
    world.attach(
        'ball', ik.collision.Sphere(0.1), 'panda_hand', ik.transform(position=(0.0, 0.0, 0.3))
    )
    without, with_it = ik.Collisions(robot, margin=0.0), ik.Collisions(robot, world, 0.0)
    share = np.random.default_rng(5).random((400, robot.n))
    q = robot.lower + share * (robot.upper - robot.lower)
    for one in q[without.free(q) & ~with_it.free(q)][:20]:
        request = attached(carried('panda_hand', (2, [0.1])), avoid=False)
        request.pose_stamped = stamped(robot.forward_kinematics(one, TIP))
        names = list(robot.joint_names)
        request.robot_state.joint_state = JointState(name=names, position=one.tolist())
        assert ask(panda, request).error_code.val == MoveItErrorCode.SUCCESS
        request.avoid_collisions = True
        response = ask(panda, request)
        if response.error_code.val == MoveItErrorCode.SUCCESS:
            state = response.solution.joint_state
            values = dict(zip(state.name, state.position, strict=True))
            assert with_it.free([values[joint] for joint in names])
            avoided += 1
        else:
            assert 'thing' in response.error_code.message
    assert avoided > 3


def test_what_was_attached_is_gone_with_the_next_request(panda):
    reader = scenes()
    patient = PatientFrames(Frames(panda.robot, panda.base_link, None), threading.Event())
    for things, count in (([carried('panda_hand', (2, [0.05]))], 1), ([], 0)):
        request = attached(*things)
        request.pose_stamped = stamped(reachable_goal(panda.robot, TIP, 1))
        query = read_request(request, panda, patient, panda.robot.name, reader)
        assert len(query.problem.avoid.world) == count


@pytest.mark.parametrize(
    'bad',
    [
        carried('panda_hand'),
        carried('panda_hand', (4, [0.1, 0.1])),
        carried('panda_hand', (1, [0.1, 0.1])),
        carried('panda_hand', (2, [-0.1])),
        carried('panda_hand', (2, [float('nan')])),
        carried('panda_hand', (2, [0.1]), planes=[None]),
        carried('no_link', (2, [0.1]), frame='panda_hand'),
        carried('panda_hand', (2, [0.1]), touching=['no_link']),
        carried('panda_hand', meshes=[[]]),
        carried('panda_hand', meshes=[[(0.0, 0.0, float('inf'))] * 4]),
    ],
)
def test_attached_objects_that_can_not_be_checked_are_refused(panda, bad):
    request = attached(bad)
    request.pose_stamped = stamped(reachable_goal(panda.robot, TIP, 1))
    with pytest.raises(Declined, match="attached object 'thing'") as refused:
        read(panda, request)
    assert refused.value.code == MoveItErrorCode.COLLISION_CHECKING_UNAVAILABLE


def test_avoid_collisions_without_collision_geometry_is_refused():
    robot = ik.load_urdf(
        '<robot name="bare"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
    )
    settings = NodeParameters(NodeOptions(), None, None, None, None, {}, {})
    model = Fields(robot=robot, base_link='a', parameters=settings, tracker=Fields(q=np.zeros(1)))
    request = new_request()
    request.avoid_collisions = True
    with pytest.raises(Declined, match='no collision geometry') as refused:
        read(model, request)
    assert refused.value.code == MoveItErrorCode.COLLISION_CHECKING_UNAVAILABLE


@pytest.fixture
def service(panda):
    """The service of a node that only logs."""
    logged = []
    log = Fields(warning=lambda text, **_: logged.append(text))
    node = Fields(get_logger=lambda: log)
    it = ComputeIk(node, lambda: it.robot, None, scenes())
    it.topics = SceneTopics(node, lambda: it.robot, None, it._scenes)
    it.robot = panda
    it.logged = logged
    return it


def positions_at(service, q):
    """The answer (n,) from q (n,) for the pose that is reached there, None without one."""
    robot, request = service._model().robot, new_request()
    names = list(robot.joint_names)
    request.pose_stamped = stamped(robot.forward_kinematics(q, TIP))
    request.robot_state.joint_state = JointState(name=names, position=q.tolist())
    request.avoid_collisions = True
    response = service._answer(Fields(ik_request=request), new_response())
    state = response.solution.joint_state
    values = dict(zip(state.name, state.position, strict=True))
    return np.array([values[joint] for joint in names]) if values else None


def test_a_planning_scene_changes_the_answer(panda, service):
    """At poses that are free but for a table, until the table may be touched or is gone."""
    robot, table = panda.robot, thing('table', (1, [0.6, 1.2, 0.1]), at=(0.6, 0.0, 0.3))
    world = ik.World()
    offset = ik.transform(position=(0.1, 0.0, 0.0))  # of all shapes of `thing`
    world.add('table', Box((0.6, 1.2, 0.1)), ik.transform(position=(0.6, 0.0, 0.3)) @ offset)
    without, with_it = ik.Collisions(robot, margin=0.0), ik.Collisions(robot, world, 0.0)
    rows = np.random.default_rng(6).uniform(robot.lower, robot.upper, (400, robot.n))
    blocked = rows[without.free(rows) & ~with_it.free(rows)][:30]
    avoided = 0
    everything = {'table': True} | dict.fromkeys(robot.link_names, True)
    for q in blocked:
        np.testing.assert_allclose(positions_at(service, q), q)  # it is there, and free
        service.topics._take(scene_message(table))
        found = positions_at(service, q)
        avoided += found is not None and bool(with_it.free(found))
        service.topics._take(scene_message(allowed=matrix(defaults=everything)))
        np.testing.assert_allclose(positions_at(service, q), q)
        service.topics._take(scene_message(is_diff=False))
        np.testing.assert_allclose(positions_at(service, q), q)
    assert avoided > 5
    assert all('every solution found collides' in text for text in service.logged)


def answered(service, robot, attached=()):
    """The code and the text of an answer with avoid_collisions, at a pose that is free."""
    request = new_request()
    request.pose_stamped = stamped(robot.forward_kinematics(robot.middle_configuration, TIP))
    request.robot_state.attached_collision_objects = list(attached)
    request.avoid_collisions = True
    error = service._answer(Fields(ik_request=request), new_response()).error_code
    return MoveItErrorCode(error.val), error.message


@pytest.fixture
def with_ignored(panda, monkeypatch):
    """Sets compute_ik_ignore."""

    def set_ignored(*names):
        node = replace(panda.parameters.node, compute_ik_ignore=names)
        monkeypatch.setattr(panda, 'parameters', replace(panda.parameters, node=node))

    return set_ignored


FAR = (3.0, 3.0, 3.0)


@pytest.mark.parametrize(
    ('unread', 'text', 'kind'),
    [
        (scene_message(octomap=[1]), 'octomap: octomaps are not supported', 'octomap'),
        (scene_message(thing('far', (4, [0.1, 0.1]), at=FAR)), "object 'far': cone", 'cone'),
        (scene_message(thing('far', (2, [-0.1]))), "object 'far': 'far': Sphere: radius", 'far'),
        (scene_message(thing('far', (2, [0.1]), frame='x')), "object 'far': unknown frame", 'far'),
    ],
)
def test_what_is_missing_in_a_scene_declines_requests_unless_it_is_ignored(
    panda, service, with_ignored, unread, text, kind
):
    code = MoveItErrorCode.COLLISION_CHECKING_UNAVAILABLE
    unread.world.collision_objects.append(thing('good', (2, [0.1]), at=FAR))
    service.topics._take(unread)
    found, why = answered(service, panda.robot)
    assert found is code
    assert text in why
    (logged, _) = service.logged
    assert text in logged
    assert 'compute_ik_ignore' in logged
    with_ignored('nothing', kind)
    assert answered(service, panda.robot)[0] is MoveItErrorCode.SUCCESS
    assert 'good' in service._scenes.scene.objects
    with_ignored()
    assert answered(service, panda.robot)[0] is code
    service.topics._take(scene_message(is_diff=False))
    assert answered(service, panda.robot)[0] is MoveItErrorCode.SUCCESS


def test_what_a_request_attaches_can_be_ignored(panda, service, with_ignored):
    cone = carried('panda_hand', (4, [0.1, 0.1]))
    found, why = answered(service, panda.robot, [cone])
    assert found is MoveItErrorCode.COLLISION_CHECKING_UNAVAILABLE
    assert "attached object 'thing': cone" in why
    with_ignored('cone')
    assert answered(service, panda.robot, [cone])[0] is MoveItErrorCode.SUCCESS


def test_scenes_that_come_before_the_robot_are_read_with_it(panda, service):
    service.robot = None
    service.topics._take(scene_message(thing('a', (2, [0.1]), at=FAR)))
    service.topics._take(scene_message(thing('b', (2, [0.1]), at=FAR)))
    assert not service._scenes.scene
    service.robot = panda
    service.topics.read()
    assert [*service._scenes.scene.objects] == ['a', 'b']
    service.robot = None
    for _ in range(DEPTH + 1):
        service.topics._take(scene_message())
    service.robot = panda
    found, why = answered(service, panda.robot)
    assert found is MoveItErrorCode.COLLISION_CHECKING_UNAVAILABLE
    assert 'before there was' in why


def test_requests_are_judged_with_a_margin_of_their_own(panda, service, monkeypatch):
    """A ball 5 mm beside the hand is no obstacle by default, and one with a margin of 10 mm."""
    robot = panda.robot
    q = robot.middle_configuration
    alone = ik.Collisions(robot, margin=0.0)
    assert alone.free(q)
    world = ik.World()
    world.add('ball', ik.collision.Sphere(0.05))
    near = ik.Collisions(robot, world, margin=0.0)
    at = robot.forward_kinematics(q, 'panda_hand')[:3, 3] + (0.0, 0.6, 0.0)
    for _ in range(50):  # towards the hand
        world.move('ball', ik.transform(position=at))
        pair = min(
            (it for it in near.distances(q, 1.0) if 'ball' in (it.first, it.second)),
            key=lambda it: it.distance,
        )
        out = pair.normal if pair.second == 'ball' else -pair.normal
        at = at + (0.005 - pair.distance) * out
    assert abs(pair.distance - 0.005) < 1e-6
    ball = thing('ball', (2, [0.05]), at=at - (0.1, 0.0, 0.0))
    service.topics._take(scene_message(ball))
    goal = robot.forward_kinematics(q, TIP)
    for margin, is_free in ((0.0, True), (0.01, False)):
        node = replace(panda.parameters.node, compute_ik_margin=margin)
        monkeypatch.setattr(panda, 'parameters', replace(panda.parameters, node=node))
        request = new_request()
        request.pose_stamped, request.avoid_collisions = stamped(goal), True
        query = read_request(
            request,
            panda,
            PatientFrames(Frames(robot, panda.base_link, None), threading.Event()),
            GROUP,
            service._scenes,
        )
        assert query.problem.avoid.free(q) == is_free


def test_the_whole_scene_is_asked_for_whenever_its_service_appears():
    """With another kind of service, since moveit_msgs are not everywhere."""
    context, found = rclpy.Context(), []
    rclpy.init(context=context, domain_id=DOMAIN)
    space = {'namespace': unique_namespace(), 'context': context}
    asking, executor = (
        rclpy.create_node('asking', **space),
        SingleThreadedExecutor(context=context),
    )
    executor.add_node(asking)
    request = SetBool.Request(data=True)
    whole = SceneRequest(asking, SetBool, request, lambda response: found.append(response.message))

    def spin_until(condition):
        deadline = time.monotonic() + 300.0
        while not condition():
            executor.spin_once(timeout_sec=0.02)
            whole.poll()
            assert time.monotonic() < deadline

    def answer(request, response):
        response.message = f'scene {request.data}'
        return response

    for count in (1, 2):
        move_group = rclpy.create_node('move_group', **space)
        executor.add_node(move_group)
        move_group.create_service(SetBool, SCENE_SERVICE, answer)
        spin_until(lambda count=count: len(found) == count)
        for _ in range(20):
            executor.spin_once(timeout_sec=0.01)
            whole.poll()
        assert found == ['scene True'] * count  # once each
        executor.remove_node(move_group)
        move_group.destroy_node()
        spin_until(lambda: not whole._is_there)
    executor.shutdown()
    asking.destroy_node()
    context.try_shutdown()


@needs_moveit
def test_the_parts_of_a_scene_are_those_of_moveit():
    known = importlib.import_module('moveit_msgs.msg').PlanningSceneComponents
    assert sum(getattr(known, name) for name in COMPONENTS) == 4 + 8 + 16 + 32 + 128


def test_what_a_state_attaches_is_all_only_if_it_is_no_difference(panda, service):
    grasp = carried('panda_hand', (2, [0.05]))
    service.topics._take(scene_message(attached=[grasp]))
    patient = PatientFrames(Frames(panda.robot, panda.base_link, None), threading.Event())
    for is_diff, names_joints, count in ((True, True, 1), (False, False, 1), (False, True, 0)):
        request = attached()
        request.robot_state.is_diff = is_diff
        if names_joints:
            request.robot_state.joint_state = JointState(name=['panda_joint1'], position=[0.1])
        request.pose_stamped = stamped(reachable_goal(panda.robot, TIP, 1))
        query = read_request(request, panda, patient, GROUP, service._scenes)
        assert len(query.problem.avoid.world) == count


@needs_moveit
def test_the_codes_are_those_of_moveit():
    codes = importlib.import_module('moveit_msgs.msg').MoveItErrorCodes
    for code in MoveItErrorCode:
        assert getattr(codes, code.name) == code.value


@needs_moveit
def test_the_service_answers_beside_the_ticks():
    service = importlib.import_module('moveit_msgs.srv').GetPositionIK
    goal = reachable_goal(load('panda'), TIP, 1)
    with world(
        urdf_path=str(URDF / 'panda.urdf'), tip_links=TIP, compute_ik=True, compute_ik_group='arm'
    ) as it:
        start = it.more_states(1)[-1]
        request = service.Request()
        request.ik_request.group_name = 'arm'
        request.ik_request.pose_stamped = stamped(goal, 'panda_link0')
        response = it.call(service, 'compute_ik', request)
        assert response.error_code.val == MoveItErrorCode.SUCCESS
        state = response.solution.joint_state
        q = np.array(state.position[: load('panda').n])
        assert np.allclose(load('panda').forward_kinematics(q, TIP), goal, atol=2e-4)
        request.ik_request.avoid_collisions = True
        response = it.call(service, 'compute_ik', request)
        assert response.error_code.val == MoveItErrorCode.SUCCESS
        request.ik_request.pose_stamped.pose.position.x = 9.0
        request.ik_request.timeout.sec = 1
        response = it.call(service, 'compute_ik', request)
        assert response.error_code.val in (
            MoveItErrorCode.NO_IK_SOLUTION,
            MoveItErrorCode.TIMED_OUT,
        )
        assert it.more_states(5)[-1].position == start.position
        assert it.transition(Transition.TRANSITION_DEACTIVATE)
        assert it.transition(Transition.TRANSITION_CLEANUP)
        it.until(lambda: NODE not in it.node.get_node_names(), 'the service is still there')


@needs_moveit
def test_the_service_is_off_by_default():
    service = importlib.import_module('moveit_msgs.srv').GetPositionIK
    with world(urdf_path=str(URDF / 'panda.urdf'), tip_links=TIP) as it:
        it.more_states(1)
        assert not it.node.create_client(service, 'compute_ik').service_is_ready()


def test_without_moveit_msgs_the_node_goes_on(monkeypatch):
    monkeypatch.setitem(sys.modules, 'moveit_msgs', None)
    monkeypatch.setitem(sys.modules, 'moveit_msgs.srv', None)
    with world(urdf_path=str(URDF / 'panda.urdf'), tip_links=TIP, compute_ik=True) as it:
        it.more_states(1)
        assert NODE not in it.node.get_node_names()
