# SPDX-License-Identifier: Apache-2.0
"""Kernels: how they are marked, compiled into a library, loaded, or run by numba or as Python."""
