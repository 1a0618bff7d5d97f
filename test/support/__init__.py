# SPDX-License-Identifier: Apache-2.0
"""Helpers of several test files."""
