"""Makes `support` importable, and lets long files run first.

pytest puts the folder of a conftest.py on the path.
"""

import pytest

pytest.register_assert_rewrite('support')


def pytest_collection_modifyitems(items):
    """Files side by side: what is long must not be what runs last, alone."""
    items.sort(key=lambda item: item.get_closest_marker('long') is None)
