# SPDX-License-Identifier: Apache-2.0
"""The node's parameters: what there is, how it is declared, checked and described."""
