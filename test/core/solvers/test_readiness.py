"""What is ready: the kernels that a solver needs with some options, and no others."""

from pathlib import Path

import pytest
from support import fresh_python
from support.fresh_python import needs_numba

from ik_core import SOLVERS, InvalidOption, _jit, make_solver
from ik_core.solvers.readiness import Kernels, all_kernels, kernels_of

LOOPS_OF = """
from ik_core import IkProblem, PositionTask, make_solver
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers.damped_search import single
from ik_core.solvers.readiness import kernels_of, make_ready
problem = IkProblem(load_robot('arm5'), [PositionTask(load_robot('arm5').default_tip())])

def compiled(options):
    workspace = make_solver({name!r}, **options).workspace(problem)
    return len(getattr(workspace, 'loop', single.run).signatures)

make_ready(kernels_of({name!r}, {options!r}))
print(compiled({options!r}), *map(compiled, {others!r}))
"""


@needs_numba
@pytest.mark.parametrize(
    ('name', 'options', 'others'),
    [
        ('levenberg_marquardt', {}, [{'relative_change': 0.5}]),
        ('levenberg_marquardt', {'relative_change': 0.5}, [{}]),
        ('trust_region', {'method': 'scipy_trf'}, [{}]),
    ],
)
def test_the_kernels_that_options_choose_are_ready_and_no_others(name, options, others):
    cache = _jit._CACHE_DIRECTORY
    home = {} if cache is None else {'XDG_CACHE_HOME': str(Path(cache).parents[1])}
    program = LOOPS_OF.format(name=name, options=options, others=others)
    assert fresh_python.run(program, **home) == '1 0'


@pytest.mark.parametrize('name', SOLVERS)
def test_each_variant_of_a_solver_is_that_of_its_own_options(name):
    kernel_sets = SOLVERS[name].kernel_sets
    assert [make_solver(name, **options).kernel_set for options in kernel_sets] == [
        *range(len(kernel_sets))
    ]
    assert all_kernels(name) == [kernels_of(name, options) for options in kernel_sets]


def test_options_that_change_no_kernels_need_those_of_the_defaults():
    assert kernels_of('levenberg_marquardt', {'restarts': 3}) == Kernels('levenberg_marquardt')
    with pytest.raises(InvalidOption, match='no option'):
        kernels_of('levenberg_marquardt', {'colour': 'red'})
