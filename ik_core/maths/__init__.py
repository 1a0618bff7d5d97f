# SPDX-License-Identifier: Apache-2.0
"""Mathematics of kernels: vectors, rotations, small linear systems, quadratic programs.

Nothing here depends on robots; only `exceptions` and `kernels` are imported.
"""
