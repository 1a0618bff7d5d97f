# SPDX-License-Identifier: Apache-2.0
"""The solution: where the joints should be, to reach the goals.

`goal_solver` solves for the goals of the problem, over several ticks if need be. On lines and jogs
`step_following` advances tips, solution and joints in equal steps, and `position_first` has those
of arms with few joints. `rest_posture` moves the joints that the goals leave free;
`other_configuration` searches in the background for a goal that is missed; `example_frames`
has tasks that depend on earlier frames.
"""
