# SPDX-License-Identifier: Apache-2.0
"""Key frames on the page: configurations that are stored, played, and saved as a motion."""
