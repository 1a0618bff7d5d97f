# SPDX-License-Identifier: Apache-2.0
"""The `ik` command: a file for each subcommand, `main` to run them.

Each subcommand has `add_parser(commands)`, which adds its arguments and sets `run`, and
`run(arguments)`, which prints and returns the exit code. `parser` has their common arguments,
`text` prints. No other part of the library imports this folder.
"""
