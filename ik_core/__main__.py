"""`python -m ik_core` is the `ik` command."""

import sys

from .cli import main

sys.exit(main())
