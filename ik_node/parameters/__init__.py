# SPDX-License-Identifier: Apache-2.0
"""The node's parameters: their options, declaration, checks and descriptions."""
