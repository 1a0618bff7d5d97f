# SPDX-License-Identifier: Apache-2.0
"""The compiled core: the table of entries, how it is built, how it is loaded."""
