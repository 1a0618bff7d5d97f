# SPDX-License-Identifier: Apache-2.0
"""Faults that users make, for type checkers to find (`type_checkers.py`); never run.

A line that ends in a mark has a fault. The lines without one are right, and must pass.
"""

import numpy as np

import ik_core as ik
from ik_core.collision import Plane

robot = ik.load_robot('panda')
goal = ik.PoseTask('panda_hand_tcp', position=[0.4, 0.2, 0.5], quaternion=[1, 0, 0, 0])
problem = ik.IkProblem(robot, [goal])
result = ik.solve(problem)
text = input('solver: ')

# Names
ik.solve_al(problem)  # fault
ik.batch.solve_bets(problem)  # fault
ik.tasks.PositionTsk('panda_hand_tcp')  # fault
ik.IkStatus.REACHD  # fault
robot.foward_kinematics(result.q)  # fault
ik.solve_all(problem)
ik.batch.solve_best(problem)
ik.tasks.PositionTask('panda_hand_tcp')
robot.forward_kinematics(result.q)

# Solvers, presets and options
ik.solve(problem, solver='levenberg_marquard')  # fault
ik.make_solver('bgfs')  # fault
ik.make_solver(text)  # fault
ik.solve_batch(problem, [np.eye(4)], solver='closed')  # fault
ik.make_solver('damped_least_squares', preset='buss')  # fault
ik.solve(problem, restart=20)  # fault
ik.solve(problem, restarts='20')  # fault
ik.solve(problem, solver='damped_least_squares', adaptive='fix')  # fault
ik.solve(problem, solver=ik.make_solver('bfgs'), restarts=20)  # fault
ik.batch.solve_best(problem, choose='closest')  # fault
ik.tracking.TrackerOptions(move='straight')  # fault
ik.make_solver(ik.solver_name(text))
ik.make_solver('damped_least_squares', preset='buss_clamped', damping=0.1, adaptive='fixed')
ik.solve(problem, restarts=20)
ik.solve(problem, solver=ik.make_solver('bfgs', restarts=20))
ik.batch.solve_best(problem, choose='nearest')
ik.batch.solve_best(problem, choose=lambda q: float(q[0]))
ik.tracking.TrackerOptions(move='linear')
for solver in ik.SOLVERS:
    ik.solve(problem, solver=solver)

# Arguments
ik.PoseTask('panda_hand_tcp', quaternion='1 0 0 0')  # fault
ik.PoseTask('panda_hand_tcp', position='0.4 0.2 0.5')  # fault
ik.PoseTask('panda_hand_tcp', position={'x': 0.4, 'y': 0.2, 'z': 0.5})  # fault
ik.PoseTask('panda_hand_tcp', quaternion=[[1, 0, 0, 0]])  # fault
ik.PoseTask('panda_hand_tcp', transform=goal)  # fault
ik.PoseTask('panda_hand_tcp', position_axes='tool')  # fault
ik.IkProblem(robot, goal)  # fault
ik.IkProblem(robot, [goal], frozen_joints='panda_joint1')  # fault
ik.solve(problem, 'home')  # fault
ik.solve(problem, result)  # fault
ik.solve(problem, budget=0.005)  # fault
ik.solve(problem, tip='panda_hand_tcp')  # fault
ik.solve(robot)  # fault
robot.forward_kinematics(result)  # fault
robot.q([0.0] * 8)  # fault
ik.World().add('floor', 'plane')  # fault
ik.PoseTask('panda_hand_tcp', (0.4, 0.2, 0.5), np.array([1, 0, 0, 0]))
ik.PoseTask('panda_hand_tcp', transform=robot.forward_kinematics(result.q))
ik.IkProblem(robot, [goal], frozen_joints=['panda_joint1'], secondary=[ik.PostureTask()])
ik.IkProblem(robot, (goal,), frozen_joints=('panda_joint1',), secondary=[[ik.PostureTask()]])
ik.IkProblem(robot, [goal], valid=lambda q: (q > 0.0).all())
ik.solve(problem, result.q, budget=ik.Budget(seconds=0.005))
ik.solve(problem, [0.0] * 8)
ik.solve(robot, np.eye(4), tip='panda_hand_tcp')
robot.forward_kinematics([[0.0] * 8, [0.1] * 8])
robot.q({'panda_joint1': 0.5}, default=result.q)
ik.World().add('floor', Plane())

# Results
result.sucess  # fault
result.position_error  # fault
result.q.degrees  # fault
result[0]  # fault
result.status.sucess  # fault
for q in result:  # fault
    print(q)
ik.solve_all(problem).solutions  # fault
ik.solve_batch(problem, [np.eye(4)]).joints  # fault
ik.Collisions(robot).free([0.0] * 8).all()  # fault
robot.joint_values(result.q)[0]  # fault
print(result.success, result.position_errors.max(), np.degrees(result.q), result.status.name)
for q in ik.solve_all(problem):
    print(q.round(3))
if ik.Collisions(robot).free([0.0] * 8):
    print(ik.Collisions(robot).free([[0.0] * 8, [0.1] * 8]).all())

# Streams
tracker = ik.Tracker(problem, rate=250)
tracker.set_goal('panda_hand_tcp', np.eye(4))  # fault
tracker.set_goal('panda_hand_tcp', 'home', now=0.0)  # fault
tracker.set_twist('panda_hand_tcp', 0.1, [0, 0, 0], now=0.0)  # fault
tracker.tick(now=0.0).position  # fault
ik.Tracker(problem, rate='250')  # fault
ik.Tracker(problem, rate=250, solver='sqpp')  # fault
tracker.set_goal('panda_hand_tcp', np.eye(4), now=0.0)
tracker.set_twist(0, [0.1, 0, 0], [0, 0, 0], now=0.0)
tracker.move_to({'panda_joint1': 0.5})
print(tracker.tick(now=0.0).q, tracker.q)
