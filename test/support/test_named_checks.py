# SPDX-License-Identifier: Apache-2.0
"""Several checks in one test: all run, and each that fails is named."""

import pytest

from support.named_checks import check_all


def test_a_failure_names_every_check_that_failed():
    def sound(subject):
        assert subject == 1

    def wrong_sum(subject):
        assert subject == 2, 'not two'

    def broken(subject):
        raise KeyError('lost')

    check_all([sound], 1)
    with pytest.raises(AssertionError) as failure:
        check_all([wrong_sum, sound, broken], 1)
    text = str(failure.value)
    assert text.startswith('2 of 3 failed')
    assert 'wrong sum\n  AssertionError: not two' in text
    assert "broken\n  KeyError: 'lost'" in text
    assert 'sound' not in text
