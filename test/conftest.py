"""Makes `support` importable: pytest puts the folder of a conftest.py on the path."""

import pytest

pytest.register_assert_rewrite('support')
