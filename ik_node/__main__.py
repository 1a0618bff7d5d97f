"""`python -m ik_node` runs the node."""

import sys

from .main import main

sys.exit(main())
