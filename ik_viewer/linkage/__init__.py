# SPDX-License-Identifier: Apache-2.0
"""A linkage of rods that changes while one looks: `ik linkage --live`.

`linkage_arm` is the arm, `panel` its tab, `command` the program.
"""
