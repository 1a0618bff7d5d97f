"""The page: a viser server that shows an arm and lets people move it, 60 times a second.

A `Page` (`page`) looks at the arm and has its parts show what it saw. Parts are made anew for
another robot, each from a `Stage` (`stage`): `scene`, `goals`, `jog`, `solver`, `joints` and
`settings`. What stays is the `status`.
"""
