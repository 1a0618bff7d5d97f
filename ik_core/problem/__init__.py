# SPDX-License-Identifier: Apache-2.0
"""A problem: what a solver is asked.

- problem: a robot, its goals and tasks, the joints that may move, and their limits
- avoidance: which configurations may be used as answers, and why not
- missed_goals: why goals are missed, and what to ask for instead
- checks: errors of wrong arguments
"""

from .problem import Evaluation, IkProblem, checked_problem

__all__ = ['Evaluation', 'IkProblem', 'checked_problem']
