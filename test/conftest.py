# SPDX-License-Identifier: Apache-2.0
"""Makes `support` importable and hypothesis repeatable, takes the compiled library that colcon
installed, runs files that wait beside files that compute, leaves what is thorough to `make
test-all`, keeps compiled tests, and gives children no options of pytest and ears for SIGINT.

pytest puts the folder of a conftest.py on the path.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.register_assert_rewrite('support')

from support.installed_library import KERNELS, take_installed_library

try:
    import hypothesis
except ImportError:
    import support.no_hypothesis  # noqa: F401  tests that draw examples are skipped
else:
    # How long an example takes says how busy the machine is.
    hypothesis.settings.register_profile('same_and_patient', deadline=None, derandomize=True)
    hypothesis.settings.load_profile('same_and_patient')

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so. Programs that tests start would inherit it, and those
    # that wait for SIGINT would never end; a handler, though, is never inherited.
    signal.signal(signal.SIGINT, lambda *_: None)

sys.dont_write_bytecode = False  # colcon sets it, and each worker would compile all tests again

take_installed_library(KERNELS, sys.path)

HERE = Path(__file__).parent
BENCHMARK = HERE / 'benchmark'
# Folders of tests that mostly wait: for nodes, for browsers, for an arm to arrive
WAITING = {'launch', 'node', 'soak', 'viewer'}
LONG = 6  # How many other files a long one counts for


# Tests that run where a package of Debian is built: without ROS and numba
OF_A_PACKAGE = (
    'core/test_compiled_library.py',
    'core/test_problem.py',
    'core/robot/test_urdf.py',
    'core/robot/test_kinematics.py',
    'core/solvers/test_solve_a_pose.py',
)


def pytest_cmdline_main(config):
    """Test the sources, with the library that was built, where pybuild has copied only tests.

    It runs them in a copy of this folder beside the modules, where all other files are missing.
    """
    built = HERE.parent
    root = next((path for path in HERE.parents if (path / 'package.xml').exists()), built)
    if root == built:
        return None
    config.pluginmanager.getplugin('capturemanager').suspend_global_capture(in_=True)
    command = [sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', '-n', '2']
    places = os.pathsep.join([str(built), os.environ.get('PYTHONPATH', '')])
    tests = [f'test/{name}' for name in OF_A_PACKAGE]
    return subprocess.call([*command, *tests], cwd=root, env={**os.environ, 'PYTHONPATH': places})


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(config, items):
    """Order the files for parallel workers, and deselect what the environment leaves out.

    The environment variable THOROUGH says whether thorough tests run.
    """
    from support.draws import IS_THOROUGH  # not before `support` is registered

    os.environ.pop('PYTEST_ADDOPTS', None)  # from `make test`: xdist's workers have read it now
    for item in items:
        if BENCHMARK in item.path.parents:
            item.add_marker('thorough')
    if not IS_THOROUGH:
        thorough = {item for item in items if item.get_closest_marker('thorough')}
        config.hook.pytest_deselected(items=[*thorough])
        items[:] = [item for item in items if item not in thorough]
    is_long = {item.path: bool(item.get_closest_marker('long')) for item in items}
    order = place_in_order(is_long)
    items.sort(key=lambda item: order[item.path])


def place_in_order(is_long):
    """Map each file to a sort key: how much of the files like it runs before it, and its path.

    Workers then always have files that wait and files that compute, about as many of each to the
    end: else they would first wait together, and then compete for the cores. Of either kind the
    long files run first: none may run last, alone.
    """
    order, depth = {}, len(HERE.parts)
    for waits in (True, False):
        files = [path for path in is_long if waits is bool(WAITING & {*path.parts[depth:]})]
        files.sort(key=lambda path: (not is_long[path], path))
        weights = [LONG if is_long[path] else 1 for path in files]
        for i, path in enumerate(files):
            order[path] = sum(weights[:i]) / sum(weights), path
    return order
