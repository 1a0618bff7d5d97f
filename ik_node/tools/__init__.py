# SPDX-License-Identifier: Apache-2.0
"""Programs around the node: the demo."""
