# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmark.pictures`: the pictures of the viewer's page in the documentation.

`browser` opens a page in a browser without a window, `stepped` is an arm whose time is given to
it, `stills` and `film` take the pictures.
"""
