"""What goes out: commands, status and diagnostics, markers."""
