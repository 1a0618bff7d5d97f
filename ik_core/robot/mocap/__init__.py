# SPDX-License-Identifier: Apache-2.0
"""Motion capture files: a figure as a `Robot` and what it did as a `Motion`.

`acclaim` reads ASF skeletons and AMC motions, `bvh` BVH files, both on
`text_lines` and `captured_skeleton`.
"""
