"""The `ik` command: one module per subcommand, `main` to run them, `text` to print."""
