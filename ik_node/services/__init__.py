"""Services: reset and pause, recordings, compute_ik."""
