# SPDX-License-Identifier: Apache-2.0
"""How each peer is set up, as in its own example; all are asked to keep the same margin."""
