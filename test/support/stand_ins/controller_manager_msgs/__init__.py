# SPDX-License-Identifier: Apache-2.0
"""A package of this name with the one message that the node subscribes to, of another type."""
