# SPDX-License-Identifier: Apache-2.0
"""Inputs: goals, measured joint states, frames, and interactive markers."""
