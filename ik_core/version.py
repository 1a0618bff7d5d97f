# SPDX-License-Identifier: Apache-2.0
"""The version of the package; setup.py and package.xml have the same."""

__version__ = '0.1.0'
