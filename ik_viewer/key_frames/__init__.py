# SPDX-License-Identifier: Apache-2.0
"""Key frames on the page: poses that are dragged, kept, played and saved as a motion."""
