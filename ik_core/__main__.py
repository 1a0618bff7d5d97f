"""`python -m ik_core` is the `ik` command."""

import sys

from .cli.main import main

sys.exit(main())
