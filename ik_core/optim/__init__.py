# SPDX-License-Identifier: Apache-2.0
"""Parts shared by the iterative solvers: the loop, line searches, limits, the null space.

These modules know problems but no solver; methods are steps that the loop is given.
"""
