# SPDX-License-Identifier: Apache-2.0
"""The compiled library for programs in C: its header, and files of exported robots."""
