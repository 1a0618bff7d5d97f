# SPDX-License-Identifier: Apache-2.0
"""Numbers of cases of a long test: all in `make test-all`, a part in `make test`."""

import os

IS_THOROUGH = bool(os.environ.get('THOROUGH'))
PART, LEAST = 4, 5  # `make test` draws one of so many cases, and at least so many


def draws(count):
    """Return how many of `count` cases to draw, the first ones: seeds are fixed."""
    return count if IS_THOROUGH else min(count, max(count // PART, LEAST))
