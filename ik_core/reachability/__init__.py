"""Which part of the space around a robot a link of it reaches."""
