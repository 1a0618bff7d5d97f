"""Where the robot comes from, the lifecycle, and parameters that change while it runs."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger
from support.node_harness import URDF, check_states, is_still, load, reachable_goal, world

import ik_core as ik

RATE = 200.0
ACCELERATION = 20.0
TIP = 'panda_hand'
CONFIGURE = Transition.TRANSITION_CONFIGURE
ACTIVATE = Transition.TRANSITION_ACTIVATE
DEACTIVATE = Transition.TRANSITION_DEACTIVATE
CLEANUP = Transition.TRANSITION_CLEANUP
BROKEN = '<robot name="broken"><link name="a"/><joint name="j" type="revolute"/></robot>'


def text_of(name):
    return (URDF / f'{name}.urdf').read_text(encoding='utf-8')


def panda_world(**parameters):
    return world(
        **{
            'urdf_path': str(URDF / 'panda.urdf'),
            'tip_links': [TIP],
            'rate': RATE,
            'joint_limits__default__acceleration': ACCELERATION,
        }
        | parameters
    )


def topic_world(**parameters):
    """A node that waits for its robot on the topic."""
    return panda_world(urdf_path='', **parameters)


def tip_position(robot, message, tip=TIP):
    return robot.forward_kinematics(np.array(message.position)[: robot.n], tip)[:3, 3]


def until_at(node, robot, goal, tip=TIP):
    node.until(
        lambda: (
            len(node.states[-1].name) == robot.n + len(robot.mimic_joints)
            and np.linalg.norm(tip_position(robot, node.states[-1], tip) - goal[:3, 3]) < 2e-5
        ),
        f'{tip} at {goal[:3, 3]}',
    )


def test_a_goal_before_the_robot_is_refused_and_one_after_it_followed():
    robot = load('panda')
    with topic_world() as node:
        node.until_code('no_model')
        assert node.state() == 'active'
        goal = reachable_goal(robot, TIP, 0)
        node.send_goal(goal)
        node.until_refused('no_model')
        assert not node.states
        node.send_description(text_of('panda'))
        node.more_states(1)
        node.until_code('idle')
        node.send_goal(goal)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_the_robot_as_text_in_the_parameter():
    with panda_world(urdf_path='', robot_description=text_of('panda')) as node:
        assert 'panda_joint1' in node.more_states(1)[0].name


def test_without_a_tip_link_the_end_of_the_longest_chain_is_moved():
    robot = load('panda')
    with panda_world(tip_links=['']) as node:
        node.more_states(1)
        goal = reachable_goal(robot, robot.default_tip(), 1)
        node.send_goal(goal, topic=f'{robot.default_tip()}/goal_pose')
        until_at(node, robot, goal, robot.default_tip())


def test_a_new_robot_is_taken_once_the_old_one_is_at_rest():
    panda, ur5e = load('panda'), load('ur5e')
    with topic_world(tip_links=[''], joint_limits__default__velocity=2.0) as node:
        node.send_description(text_of('panda'))
        node.more_states(1)
        node.send_goal(reachable_goal(panda, panda.default_tip(), 2))
        node.until(lambda: any(node.states[-1].velocity), 'motion')
        node.send_description(text_of('ur5e'))
        node.until(lambda: list(node.states[-1].name) == list(ur5e.joint_names), 'the UR5e')
        goal = reachable_goal(ur5e, ur5e.default_tip(), 3)
        node.send_goal(goal, topic=f'{ur5e.default_tip()}/goal_pose')
        until_at(node, ur5e, goal, ur5e.default_tip())
        states = node.states
        first = next(i for i, s in enumerate(states) if list(s.name) == list(ur5e.joint_names))
        assert is_still(states[first - 1]), 'swapped while moving'
        check_states(states[:first], panda, RATE, 2.0, ACCELERATION)
        check_states(states[first:], ur5e, RATE, 2.0, ACCELERATION)


def test_the_same_robot_with_other_limits_goes_on_where_it_is():
    robot = load('panda')
    with topic_world() as node:
        node.send_description(text_of('panda'))
        node.more_states(1)
        goal = reachable_goal(robot, TIP, 4)
        node.send_goal(goal)
        until_at(node, robot, goal)
        node.send_description(text_of('panda').replace('2.3925', '2.0').replace('2.175', '1.0'))
        node.until_code('idle')
        check_states(node.more_states(), robot, RATE, acceleration=ACCELERATION)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_broken_robot_leaves_the_good_one_in_place():
    """The UR5e is broken here because it has no link of the name in tip_links."""
    robot = load('panda')
    with topic_world() as node:
        node.send_description(text_of('panda'))
        node.more_states(1)
        for sent, broken in enumerate([BROKEN, 'no xml', '', text_of('ur5e')], 1):
            node.send_description(broken)
            node.until(lambda n=sent: node.diagnostics.get('errors') == str(n), f'error {sent}')
        goal = reachable_goal(robot, TIP, 5)
        node.send_goal(goal)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)
        assert node.set_parameters(joint_limits__panda_joint1__velocity=1.0).successful


def test_all_transitions_and_then_again():
    with panda_world(autostart=False) as node:
        for _ in range(2):
            assert node.state() == 'unconfigured'
            assert node.transition(CONFIGURE)
            assert node.state() == 'inactive'
            before = len(node.states)
            assert node.transition(ACTIVATE)
            assert node.state() == 'active'
            node.more_states()
            assert node.transition(DEACTIVATE)
            assert node.state() == 'inactive'
            count = len(node.states)
            assert count > before
            assert node.transition(ACTIVATE)
            node.more_states()
            assert node.transition(DEACTIVATE)
            assert node.transition(CLEANUP)


def test_goals_are_refused_while_inactive():
    with panda_world(autostart=False) as node:
        assert node.transition(CONFIGURE)
        node.send_goal(reachable_goal(load('panda'), TIP, 6))
        node.until_refused('inactive')
        node.until_code('inactive')


def test_deactivating_on_the_way_brings_the_joints_to_rest_first():
    robot = load('panda')
    with panda_world() as node:
        node.more_states(1)
        node.send_goal(reachable_goal(robot, TIP, 7))
        node.until(lambda: np.abs(node.states[-1].velocity).max() > 0.5, 'motion')
        assert node.transition(DEACTIVATE)
        node.until(lambda: is_still(node.states[-1]), 'rest')
        last = node.states[-1]
        assert node.transition(ACTIVATE)
        again = node.more_states(1)[-1]
        np.testing.assert_allclose(again.position, last.position, atol=1e-9)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


@pytest.mark.parametrize(
    ('wrong', 'right'),
    [
        ({'urdf_path': '/no/such/file.urdf'}, {'urdf_path': str(URDF / 'panda.urdf')}),
        ({'tip_links': ['no_such_link']}, {'tip_links': [TIP]}),
        ({'base_link': 'no_such_link'}, {'base_link': ''}),
        ({'tip_links': [TIP, TIP]}, {'tip_links': [TIP]}),
    ],
)
def test_what_can_not_be_configured_can_be_corrected(wrong, right):
    with panda_world(autostart=False) as node:
        assert node.set_parameters(**wrong).successful
        assert not node.transition(CONFIGURE)
        assert node.state() == 'unconfigured'
        assert node.set_parameters(**right).successful
        assert node.transition(CONFIGURE)
        assert node.transition(ACTIVATE)
        node.more_states()


def test_static_parameters_are_fixed_until_cleanup():
    with panda_world() as node:
        node.more_states(1)
        result = node.set_parameters(rate=100.0)
        assert not result.successful
        assert 'only while the node is unconfigured' in result.reason
        assert node.transition(DEACTIVATE)
        assert not node.set_parameters(rate=100.0).successful
        assert node.transition(CLEANUP)
        assert node.set_parameters(rate=100.0).successful
        assert node.transition(CONFIGURE)
        assert node.transition(ACTIVATE)
        before = len(node.states)
        node.more_states()
        check_states(node.states[before:], load('panda'), 100.0, acceleration=ACCELERATION)


def test_parameters_change_on_the_way():
    robot = load('panda')
    with panda_world() as node:
        node.more_states(1)
        goal = reachable_goal(robot, TIP, 8)
        node.send_goal(goal)
        for values in (
            {'solver': 'damped_least_squares'},
            {'updates_per_tick': 2},
            {'position_tolerance': 1e-4, 'orientation_tolerance': 1e-3},
            {'solver': 'levenberg_marquardt', 'levenberg_marquardt__restarts': 5},
            {'updates_per_tick': 0, 'position_tolerance': 1e-5, 'orientation_tolerance': 1e-4},
        ):
            assert node.set_parameters(**values).successful
            node.more_states(10)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_every_solver_can_be_chosen_on_the_way():
    """Each takes over the arm where the one before left it, and goes on."""
    robot, rng = load('panda'), np.random.default_rng(12)
    with panda_world() as node:
        node.more_states(1)
        for solver in [*ik.SOLVERS, 'levenberg_marquardt']:
            q = np.array(node.states[-1].position[: robot.n])
            q[:7] = np.clip(q[:7] + rng.uniform(-0.1, 0.1, 7), robot.lower[:7], robot.upper[:7])
            node.send_goal(robot.forward_kinematics(q, TIP))
            assert node.set_parameters(solver=solver).successful
            node.more_states(50)
        until_at(node, robot, robot.forward_kinematics(q, TIP))
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_velocity_limit_that_is_tightened_on_the_way_is_kept():
    robot = load('panda')
    slow = {f'joint_limits__{joint}__velocity': 0.04 for joint in robot.joint_names}
    with panda_world() as node:
        node.more_states(1)
        goal = reachable_goal(robot, TIP, 9)
        node.send_goal(goal)
        node.until(lambda: np.abs(node.states[-1].velocity).max() > 0.5, 'motion')
        assert node.set_parameters(**slow).successful
        node.until(lambda: np.abs(node.states[-1].velocity).max() < 0.0401, 'slowing down')
        slowed = node.more_states()
        assert max(np.abs(state.velocity).max() for state in slowed) < 0.0401
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_position_limit_that_is_tightened_moves_the_joint_inside():
    robot = load('panda')
    with panda_world() as node:
        start = node.more_states(1)[-1].position[0]
        assert node.set_parameters(joint_limits__panda_joint1__lower=start + 0.5).successful
        node.send_goal(reachable_goal(robot, TIP, 10))
        node.until(lambda: node.states[-1].position[0] >= start + 0.5 - 1e-9, 'inside')
        inside = node.more_states(100)
        assert min(state.position[0] for state in inside) >= start + 0.5 - 1e-9
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_set_with_one_wrong_value_changes_nothing():
    with panda_world() as node:
        node.more_states(1)
        result = node.set_parameters(goal_timeout=5.0, solver='magic')
        assert not result.successful
        assert 'levenberg_marquardt' in result.reason
        assert node.ik_node.get_parameter('goal_timeout').value == 0.0


class SimTime:
    """A simulator's clock: it goes on, by one period of the node, when told to."""

    def __init__(self, node, now):
        self._publisher = node.publisher(Clock, 'clock', 10)
        self._node = node
        self.now = now  # [ns]

    def show(self):
        """Publish the time."""
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(self.now, 1_000_000_000)
        self._publisher.publish(message)

    def run(self, ticks):
        """Let so many periods go by, and wait for the state of each."""
        for _ in range(ticks):
            before = len(self._node.states)
            self.now += round(1e9 / RATE)
            self.show()
            self._node.until(lambda n=before: len(self._node.states) > n, 'a state')


def test_ticks_follow_simulated_time():
    robot = load('panda')
    with panda_world(use_sim_time=True) as node:
        node.until_code('active')
        clock = SimTime(node, 100_000_000_000)
        clock.run(5)
        node.send_goal(reachable_goal(robot, TIP, 11))
        node.until(lambda: clock.run(1) or np.abs(node.states[-1].velocity).max() > 0.3, 'motion')
        count = len(node.states)
        assert node.set_parameters(replan_period=1.0).successful
        assert len(node.states) == count, 'a paused clock pauses publishing'
        clock.now = 50_000_000_000
        clock.show()
        assert node.set_parameters(replan_period=0.5).successful  # by now it has seen the time
        clock.run(40)
        assert is_still(node.states[-1]), 'a clock that jumps back stops the robot'
        node.until_code('idle')
        check_states(node.states[:count], robot, RATE, acceleration=ACCELERATION)


def test_a_clock_that_jumps_ahead_is_not_caught_up_with():
    robot = load('panda')
    with panda_world(use_sim_time=True) as node:
        node.until_code('active')
        clock = SimTime(node, 100_000_000_000)
        clock.run(5)
        node.send_goal(reachable_goal(robot, TIP, 11))
        node.until(lambda: clock.run(1) or np.abs(node.states[-1].velocity).max() > 0.3, 'motion')
        count, late = len(node.states), int(node.diagnostics.get('late_ticks', 0))
        clock.now += 10_000_000_000
        clock.run(1)
        assert node.set_parameters(replan_period=0.5).successful  # by now it has seen the time
        assert len(node.states) <= count + 2, 'ticks were caught up with'
        clock.run(5)
        node.until(lambda: int(node.diagnostics.get('late_ticks', 0)) > late + 1000, 'late ticks')
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_paused_clock_keeps_goals_and_a_pause_longer_than_their_timeout_changes_nothing():
    robot = load('panda')
    with panda_world(use_sim_time=True, goal_timeout=10.0) as node:
        node.until_code('active')
        clock = SimTime(node, 100_000_000_000)
        clock.run(3)
        goal = reachable_goal(robot, TIP, 11)
        node.send_goal(goal)
        node.until(lambda: clock.run(1) or any(node.states[-1].velocity), 'motion')
        for _ in range(50):
            clock.show()  # the same time again and again
        assert node.set_parameters(replan_period=1.0).successful
        node.until(
            lambda: (
                clock.run(10)
                or np.abs(tip_position(robot, node.states[-1]) - goal[:3, 3]).max() < 2e-5
            ),
            'the goal',
        )


def answer(node, kind, service, **request):
    return node.call(kind, f'ik_node/{service}', kind.Request(**request))


def test_reset_drops_the_goal_and_comes_to_rest_within_the_limits():
    robot = load('panda')
    with panda_world() as node:
        node.more_states(1)
        goal = reachable_goal(robot, TIP, 13)
        node.send_goal(goal)
        node.until(lambda: np.abs(node.states[-1].velocity).max() > 0.5, 'motion')
        assert answer(node, Trigger, 'reset').success
        node.until(lambda: is_still(node.more_states(1)[-1]), 'rest')
        node.until_code('idle')
        assert np.linalg.norm(tip_position(robot, node.states[-1]) - goal[:3, 3]) > 0.01
        node.send_goal(goal)
        until_at(node, robot, goal)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_pause_comes_to_rest_and_keeps_the_goal():
    robot = load('panda')
    with panda_world() as node:
        node.more_states(1)
        goal, other = (reachable_goal(robot, TIP, number) for number in (14, 15))
        node.send_goal(goal)
        node.until(lambda: np.abs(node.states[-1].velocity).max() > 0.5, 'motion')
        assert answer(node, SetBool, 'pause', data=True).success
        node.until(lambda: is_still(node.more_states(1)[-1]), 'rest')
        node.until_code('paused')
        node.send_goal(other)  # is kept for later, too
        assert all(map(is_still, node.more_states(20)))
        assert answer(node, SetBool, 'pause', data=False).success
        until_at(node, robot, other)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_pause_outlives_another_robot_of_the_same_kind_and_other_tolerances():
    speed = 'joint_limits.panda_joint1.velocity'
    with topic_world() as node:
        node.send_description(text_of('panda'))
        node.more_states(1)
        assert answer(node, SetBool, 'pause', data=True).success
        assert node.set_parameters(position_tolerance=1e-4).successful
        node.send_goal(reachable_goal(load('panda'), TIP, 16))
        assert all(map(is_still, node.more_states(20)))
        node.send_description(text_of('panda').replace('2.175', '1.0'))
        node.until(lambda: node.ik_node.get_parameter(speed).value == 1.0, 'the other robot')
        node.until_code('paused')
        assert answer(node, SetBool, 'pause', data=False).success
        node.until_code('idle')


def test_without_a_robot_the_services_say_so():
    with topic_world() as node:
        node.until_code('no_model')
        for kind, service in ((Trigger, 'reset'), (SetBool, 'pause')):
            reply = answer(node, kind, service)
            assert not reply.success
            assert 'no robot' in reply.message


def test_a_failure_on_the_way_leads_back_to_unconfigured():
    """The DDS refuses a topic with two types: a failure that the node does not foresee."""
    remap = ('clicked_point', 'goal_pose')
    with panda_world(autostart=False, remap=remap) as node:
        assert not node.transition(CONFIGURE)
        assert node.state() == 'unconfigured'
        node.until_code('unconfigured')
        assert not node.transition(CONFIGURE), 'it can be tried again'
        assert node.set_parameters(rate=100.0).successful, 'static parameters can change'


def test_base_link_names_the_frame_of_goals_and_stays_where_it_is():
    robot = load('pr2_like')
    tip = robot.default_tip()
    base = next(link for link in robot.link_names if len(robot.chain(link)) == 1)
    lift = robot.chain(base)[0]
    with world(
        urdf_path=str(URDF / 'pr2_like.urdf'),
        base_link=base,
        tip_links=[tip],
        rate=RATE,
        joint_limits__default__velocity=2.0,
        joint_limits__default__acceleration=ACCELERATION,
    ) as node:
        start = np.array(node.more_states(1)[-1].position)[: robot.n]
        q = start + 0.3
        q[lift] = start[lift]
        q = np.clip(q, robot.lower, robot.upper)
        goal = robot.forward_kinematics(q, tip, base)
        node.send_goal(goal)
        node.until_code('reached')
        there = np.array(node.more_states(1)[-1].position)[: robot.n]
        np.testing.assert_allclose(robot.forward_kinematics(there, tip, base), goal, atol=1e-3)
        assert there[lift] == start[lift]
        check_states(node.states, robot, RATE, 2.0, ACCELERATION)
