"""What is ready: after `make_ready`, no option of a solver has its kernels compiled or loaded."""

from pathlib import Path

import pytest
from support import fresh_python
from support.fresh_python import needs_numba

from ik_core import _jit

LOOPS_OF = """
from ik_core import IkProblem, PositionTask, make_solver
from ik_core.robot.shipped import load_robot
from ik_core.solvers.readiness import make_ready
problem = IkProblem(load_robot('arm5'), [PositionTask(load_robot('arm5').default_tip())])
loop = make_solver({name!r}, **{options!r}).workspace(problem).loop
before = len(loop.signatures)
make_ready({name!r})
print(before, len(loop.signatures))
"""


@needs_numba
@pytest.mark.parametrize(
    ('name', 'options'),
    [
        ('levenberg_marquardt', {'relative_change': 0.5}),
        ('trust_region', {}),
        ('trust_region', {'method': 'scipy_trf'}),
    ],
)
def test_kernels_that_an_option_chooses_are_ready_as_well(name, options):
    cache = _jit._CACHE_DIRECTORY
    home = {} if cache is None else {'XDG_CACHE_HOME': str(Path(cache).parents[1])}
    assert fresh_python.run(LOOPS_OF.format(name=name, options=options), **home) == '0 1'
