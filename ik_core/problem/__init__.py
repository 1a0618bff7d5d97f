# SPDX-License-Identifier: Apache-2.0
"""A problem: what a solver is asked.

- problem: a robot, its goals and tasks, the joints that may move, and their limits
- evaluator: its costs, residuals and Jacobians during a search
- avoidance: which configurations may be used as answers, and why not
- missed_goals: why goals are missed, and what to ask for instead
- checks: errors of wrong arguments
"""

from .evaluator import Evaluation, Evaluator
from .problem import IkProblem, checked_problem

__all__ = ['Evaluation', 'Evaluator', 'IkProblem', 'checked_problem']
