# SPDX-License-Identifier: Apache-2.0
"""The reach of a tip, as points in the scene: `mapping` computes them in the background, `panel`
shows them on the page.
"""
