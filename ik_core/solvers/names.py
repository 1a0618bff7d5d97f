# SPDX-License-Identifier: Apache-2.0
"""Names of solvers, presets and options, for type checkers and for editors that complete them.

`SOLVERS` and the solvers' `Options` say what exists, a test compares both with this file. A name
that comes from outside, as text, becomes a `SolverName` by `ik_core.solver_name`.
"""

from typing import Literal, TypedDict

SolverName = Literal[
    'levenberg_marquardt',
    'closed_form',
    'damped_least_squares',
    'selectively_damped_least_squares',
    'pseudoinverse',
    'jacobian_transpose',
    'cyclic_coordinate_descent',
    'bfgs',
    'projected_gradient',
    'penalty',
    'augmented_lagrangian',
    'sqp',
    'trust_region',
]

PresetName = Literal[
    'buss_clamped',
    'buss_pure',
    'coursework',
    'engell_erleben',
    'state_of_the_art',
    'tau_one',
]


class AllSolutionsOptions(TypedDict, total=False):
    """Options of `solve_all`: those of `levenberg_marquardt` that are not its own arguments."""

    max_iterations: int
    restarts: int
    relative_change: float
    record_history: bool
    patience: int
    max_step: float
    damping: float


class BatchOptions(AllSolutionsOptions, total=False):
    """Options of all solvers, without the random seed, which batches have as an argument."""

    closed_form: bool
    prove_collisions: bool
    max_error: float
    max_error_in_links: float
    max_error_rule: Literal['fixed', 'resetting']
    jacobian: Literal['analytic', 'central_difference', 'target']
    difference_step: float
    joint_weights: Literal['equal', 'link_length']
    joint_stiffness: str
    limits: Literal['every_step', 'at_the_end']
    normalised_columns: bool
    step_norm: float
    max_step_norm: float
    slow_fraction: float
    slow_distance: float
    adaptive: Literal['fixed', 'singular_value', 'manipulability', 'numerical_filtering']
    threshold: float
    rank_tolerance: float
    time_step: float
    halving_tolerance: float
    null_space: Literal['projected', 'extended']
    step_rule: Literal['alpha', 'fixed', 'halving']
    step_length: float
    order: Literal['tip_to_base', 'base_to_tip']
    free_axis: bool
    alpha: float
    beta: float
    epsilon: float
    initial_hessian: Literal['gauss_newton', 'identity']
    first_step: Literal['one', 'barzilai_borwein']
    weight: float
    growth: float
    method: Literal['dogbox', 'scipy_dogbox', 'scipy_trf']
    evaluations_per_step: int


class SolverOptions(BatchOptions, total=False):
    """Options of all solvers. A solver refuses those of others when it is made."""

    random_seed: int
