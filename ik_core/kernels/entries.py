# SPDX-License-Identifier: Apache-2.0
"""The table of entries: every kernel that Python calls, with its kinds of arguments and results.

An entry is a function of the compiled library, `int ik_NAME(int64_t *table)`. The table has the
arguments in order and then room for the results, eight bytes each: an integer (`i`), a bool (`b`),
the bits of a double (`d`); an array's address, then its lengths: `D2` is an array of doubles of
two dimensions, `I` of integers, `B` of bools (one byte each); parentheses enclose a tuple. It
returns 0 when it is done.

A kernel that Python calls and that is not in the table is compiled by numba when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A kernel that Python calls.

    name : of the function in the library
    path : where the kernel is defined, module:name
    arguments, results : letters, see the module
    find : returns the kernel if it is made by `with_kernels`, so that its path is not enough
    lanes : only in libraries with so many lanes; 0: in all
    """

    name: str
    path: str
    arguments: str
    results: str
    find: Callable[[], Any] | None = None
    lanes: int = 0

    def kernel(self) -> Any:
        """Return the kernel."""
        return self.find() if self.find is not None else at(self.path)


def at(path: str) -> Any:
    """Return what is at a path, module:name."""
    module, _, name = path.partition(':')
    return getattr(import_module(f'ik_core.{module}'), name)


GOALS = '(I2D2I2D2D2D2D2D2D2D2)'
"""`tasks.kernels.Packed`."""

METHODS = (
    'jacobian_transpose',
    'pseudoinverse',
    'damped_least_squares',
    'selectively_damped_least_squares',
    'cyclic_coordinate_descent',
    'bfgs',
    'projected_gradient',
    'penalty',
    'augmented_lagrangian',
    'sqp',
)
"""Solvers that are two kernels in the shared loop."""
CONSTRAINED = ('bfgs', 'sqp')
"""Solvers that support linear constraints and obstacles."""


def _method(name: str) -> Any:
    kind = import_module('ik_core.solvers').SOLVERS[name]
    return at('optim.loop:method_loop')(name, kind.start, kind.step)


def _constrained(name: str) -> Any:
    kind = import_module('ik_core.solvers').SOLVERS[name]
    return at('optim.constrained:constrained_loop')(name, kind.start, kind.constrained_step)


def _free(name: str) -> Any:
    return at('optim.avoiding:free_loop')(
        name, import_module('ik_core.solvers').SOLVERS[name].start
    )


def _loop_of(name: str, path: str, start: str, step: str) -> Any:
    module = import_module(f'ik_core.{path}')
    return at('optim.loop:method_loop')(name, getattr(module, start), getattr(module, step))


def _rows() -> list[Entry]:
    def row(path: str, arguments: str, results: str = '', name: str = '', **more: Any) -> Entry:
        name = name or path.partition(':')[2]
        return Entry(f'ik_{name}', path, arguments, results, **more)

    search = 'solvers.damped_search.run'
    return [
        row(f'{search}:solve', 'iiD1D2', 'idiiii'),
        row(f'{search}:conclude', 'i', 'i', 'solve_conclude'),
        row(f'{search}:check_start', 'iD1D2', 'id', 'solve_check_start'),
        *(
            row(
                f'{search}:solve_batch_{lanes}',
                'iibi',
                'b',
                find=lambda lanes=lanes: at(f'{search}:solve_batches')[lanes],
                lanes=lanes,
            )
            for lanes in (4, 8)
        ),
        row('batch.rows:take_problems', 'D4D2I1D2iD3D2'),
        row('batch.rows:put_answers', 'D2D3I2D2I1iD2D2D2I1I2'),
        row('robot.kinematics:body_frames', 'I2D2D1D2'),
        row('robot.kinematics:body_frames_of_rows', 'I2D2D2D3'),
        row('robot.kinematics:point_jacobian', 'I2D2D2i(ddd)D2'),
        row('robot.kinematics:point_jacobian_of_rows', 'I2D2D3iD2D3'),
        row('robot.cone_kernels:outside', 'D2ddd', 'dddd', 'cone_outside'),
        row('robot.limits:random_configuration', 'iiD1D1D1'),
        row('robot.limits:shift_to_nearest_turns', 'D1D1D1D1B1'),
        row('maths.rotations:is_rigid', 'D2dd', 'b'),
        row('maths.rotations:first_not_rigid', 'D3dd', 'i'),
        row('maths.rotations:relative_logs', 'D2D2D2'),
        row('maths.rotations:quaternion_of', 'ddddddddd', 'dddd'),
        row('maths.dual_active_set:boxed_program', 'D2D1D1D2D2D1D1', 'i'),
        row('rules:answer_status', 'ibb', 'i'),
        row('rules:are_within', 'D2dd', 'b'),
        row('rules:is_within', 'dddd', 'b'),
        row('rules:is_stationary', 'D1D2D1D1d', 'b'),
        row('rules:lengthen', 'D1'),
        row('tasks.kernels:update', f'{GOALS}D1D1', 'd', 'goals_update'),
        row('tasks.kernels:goal_jacobian', f'{GOALS}iD2'),
        row('collision.covers:descend', 'D2D2D2D2id', '', 'cover_descend'),
        row('collision.proof:link_distance', 'iiiD1D1', 'd', 'collision_link_distance'),
        row('collision.proof:prove', 'iiidi', 'ii', 'collision_prove'),
        row('collision.proof:prove_inside', 'iiidi', 'bi', 'collision_prove_inside'),
        row('collision.proof:prove_touching', 'iiiii', 'bi', 'collision_prove_touching'),
        row('collision.proof:search', 'iiiD2idD1', 'd', 'collision_search'),
        row('collision.rows:distances_at', 'iiD1db', 'i', 'collision_distances_at'),
        row('collision.rows:free_rows', 'iiD2B1', '', 'collision_free_rows'),
        row('collision.rows:gradients_of_rows', 'iiD2D1D2', '', 'collision_gradients_of_rows'),
        row('collision.cutting:winding_number', 'D3ddd', 'd'),
        row('closed_form.kernel:solve_poses', 'iiid', 'b'),
        row('closed_form.kernel:judge_candidates', 'iD2', 'b'),
        row('closed_form.following:follow', f'{GOALS}D2iD1D1D2D2D2', 'd', 'closed_follow'),
        row('closed_form.following:appraise', f'{GOALS}D2D2D1D1D2D2D2', '', 'closed_appraise'),
        row('closed_form.nearest:nearest_solutions', 'I1D2D2D2iiD2D2'),
        row('closed_form.nearest_branch:nearest_branch', 'I1D2D2D2D2D1D2D3D2D3D2D1', 'db'),
        row('closed_form.sweeping:sweep', 'I1D2D2D2D1iD2D2D1', 'd', 'closed_sweep'),
        row('closed_form.sweeping:hidden_values', 'I1D2D2D2D1D2D3D2D1', 'i'),
        *(
            row(f'optim.loop:run_{name}', 'ii', find=lambda name=name: _method(name))
            for name in METHODS
        ),
        *(
            row(
                f'optim.loop:run_{name}_constrained',
                'ii',
                find=lambda name=name: _constrained(name),
            )
            for name in CONSTRAINED
        ),
        *(
            row(f'optim.loop:run_{name}_free', 'ii', find=lambda name=name: _free(name))
            for name in CONSTRAINED
        ),
        row(
            'optim.loop:run_trust_region',
            'ii',
            find=lambda: _loop_of('trust_region', 'optim.dogbox', 'start', 'step'),
        ),
        row(
            'optim.loop:run_python',
            'ii',
            find=lambda: _loop_of('python', 'optim.loop', 'call_start', 'call_step'),
        ),
        row('optim.loop:settle', 'i', 'i', 'loop_settle'),
        row('optim.loop:conclude', 'i', '', 'loop_conclude'),
        row(
            'optim.loop:settle_constrained',
            'i',
            'i',
            'loop_settle_constrained',
            find=lambda: at('optim.constrained:settle'),
        ),
        row(
            'optim.loop:conclude_constrained',
            'i',
            '',
            'loop_conclude_constrained',
            find=lambda: at('optim.constrained:conclude'),
        ),
        *(
            row(
                f'optim.loop:{name}_free',
                'i',
                letters,
                f'loop_{name}_free',
                find=lambda name=name: at(f'optim.avoiding:{name}'),
            )
            for name, letters in (('settle', 'i'), ('conclude', ''))
        ),
        row('optim.constrained:start_inside', 'i', 'b'),
        row('optim.descent:begin_descent', 'i'),
        row('optim.descent:descend', 'i', 'b'),
        row('optim.quasi_newton:linear_model', 'D2dD2'),
        row('optim.quasi_newton:bfgs_update', 'D2D1D1D1'),
        row('tracking.braking:approach_speed', 'ddd', 'd'),
        row('tracking.cartesian:approach', 'D1D1D1D1dddd', 'd', 'tip_approach'),
        row('tracking.cartesian:carry', 'D1D1d', '', 'tip_carry'),
        row('tracking.cartesian:change_between', 'D1D1', 'dd', 'tip_change_between'),
        row('tracking.cartesian:change_twist', 'D1D1D1dd', '', 'tip_change_twist'),
        row('tracking.cartesian:share_of', 'D1D1', 'd', 'tip_share_of'),
        row('tracking.cartesian:way_between', 'D1D1D1', '', 'tip_way_between'),
        row('tracking.goal_solver:all_finite', 'D1', 'b'),
        row('tracking.goal_solver:turn_back', 'D1D1D1B1', 'b'),
        row('tracking.governor:advance', 'D2bd', '', 'governor_advance'),
        row('tracking.knots:stop_knots', 'D2dI1D2D2', 'i', 'governor_stop_knots'),
        row('tracking.rest_posture:null_space_step', f'{GOALS}D2D2D2D1dd', 'b'),
        row('tracking.speed_scale:scale_bounds', 'D1D1D1D2dd', 'dd', 'governor_scale_bounds'),
        row('tracking.steps:adopt', 'D2D2d', 'b', 'governor_adopt'),
        row('tracking.steps:stop_point', 'D2dD1', '', 'governor_stop_point'),
    ]


ENTRIES: dict[str, Entry] = {entry.path: entry for entry in _rows()}
