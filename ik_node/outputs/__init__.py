# SPDX-License-Identifier: Apache-2.0
"""Outputs: commands, status and diagnostics, markers."""
