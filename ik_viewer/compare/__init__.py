"""Several solvers on the same goal at once, each as a ghost: what their papers compare, live.

`contestants` names them, `start` says where all of them begin, `stepped_solve` is one of them and
`race` all together, none of which waits for another. `panel` shows it on the page.
"""
