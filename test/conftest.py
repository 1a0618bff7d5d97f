"""Makes `support` importable and hypothesis repeatable, lets long files run first, leaves what is
thorough to `make test-all`, and gives children no options of pytest and ears for SIGINT.

pytest puts the folder of a conftest.py on the path.
"""

import os
import signal
from pathlib import Path

import hypothesis
import pytest

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile('same_and_patient', deadline=None, derandomize=True)
hypothesis.settings.load_profile('same_and_patient')

pytest.register_assert_rewrite('support')

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so. Programs that tests start would inherit it, and those
    # that wait for SIGINT would never end; a handler, though, is never inherited.
    signal.signal(signal.SIGINT, lambda *_: None)

BENCHMARK = Path(__file__).parent / 'benchmark'


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(config, items):
    """Files side by side: what is long must not be what runs last, alone.

    The environment variable THOROUGH says whether thorough tests run.
    """
    os.environ.pop('PYTEST_ADDOPTS', None)  # from `make test`: xdist's workers have read it now
    for item in items:
        if BENCHMARK in item.path.parents:
            item.add_marker('thorough')
    if not os.environ.get('THOROUGH'):
        thorough = {item for item in items if item.get_closest_marker('thorough')}
        config.hook.pytest_deselected(items=[*thorough])
        items[:] = [item for item in items if item not in thorough]
    items.sort(key=lambda item: item.get_closest_marker('long') is None)
