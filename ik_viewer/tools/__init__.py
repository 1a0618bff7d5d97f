"""Commands around the page, for a browser without a window: pictures of it, and how fast it is.

`browser` opens a page, `stepped` is an arm whose time is told to it, `pictures` takes the pictures
of the documentation, `speed` counts frames.
"""
