"""What the exit codes of `ik` mean; 2 comes with one line on stderr that says what is wrong."""

REACHED, NOT_REACHED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
