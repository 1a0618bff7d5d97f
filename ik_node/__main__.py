# SPDX-License-Identifier: Apache-2.0
"""`python -m ik_node` runs the node."""

import sys

from .main import main

sys.exit(main())
