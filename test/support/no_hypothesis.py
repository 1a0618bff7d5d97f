# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for hypothesis where it is not installed: its tests are skipped, all others run.

Importing this file puts them in the place of hypothesis: test files import it as always.
"""

import sys
import unittest
from types import ModuleType

import pytest

SKIP = pytest.mark.skip(reason='hypothesis is not installed')


class Strategy(ModuleType):
    """A module of strategies, and a strategy: attributes and results are strategies again."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return self

    def __call__(self, *arguments, **options):
        return self

    def __or__(self, other):
        return self


class RuleBasedStateMachine:
    """The base of a state machine, with its one test."""

    class TestCase(unittest.TestCase):
        @SKIP
        def runTest(self):  # noqa: N802
            pass


def skip(*arguments, **options):
    """The decorator that hypothesis' decorators become."""
    return SKIP


hypothesis = Strategy('hypothesis')
hypothesis.given = hypothesis.settings = hypothesis.seed = hypothesis.example = skip
hypothesis.RuleBasedStateMachine = RuleBasedStateMachine
hypothesis.initialize = hypothesis.rule = skip
for name in ('', '.strategies', '.extra', '.stateful'):
    sys.modules[f'hypothesis{name}'] = hypothesis
