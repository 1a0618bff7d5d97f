# SPDX-License-Identifier: Apache-2.0
"""Services: reset and pause, recordings, compute_ik."""
