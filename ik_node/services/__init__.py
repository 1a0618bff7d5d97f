"""What is asked for: reset and pause, recordings, compute_ik."""
