# SPDX-License-Identifier: Apache-2.0
"""The figures and tables of papers, reproduced with their methods and with ours."""
