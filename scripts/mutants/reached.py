# SPDX-License-Identifier: Apache-2.0
"""The places of mutants that a process has executed, where the sources are instrumented."""

REACHED: set[int] = set()
