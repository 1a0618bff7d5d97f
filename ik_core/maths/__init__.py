# SPDX-License-Identifier: Apache-2.0
"""Scalar kernels: vectors, rotations, small linear systems.

Nothing here knows a robot; only `exceptions` and `kernels` stand below.
"""
