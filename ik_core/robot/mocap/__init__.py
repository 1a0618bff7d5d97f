# SPDX-License-Identifier: Apache-2.0
"""Motion capture files: a skeleton as a `Robot` and its motion as a `Motion`.

`acclaim` reads ASF skeletons and AMC motions, `bvh` BVH files, both on
`text_lines` and `captured_skeleton`.
"""
