"""Subcommands of `ik` with a module of their own."""
