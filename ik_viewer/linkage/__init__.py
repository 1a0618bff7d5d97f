# SPDX-License-Identifier: Apache-2.0
"""A linkage of rods that can be changed on the page: `ik linkage --live`.

`linkage_arm` is the arm, `panel` its tab, `command` the program.
"""
