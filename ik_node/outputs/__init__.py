"""Outputs: commands, status and diagnostics, markers."""
