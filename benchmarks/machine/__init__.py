"""What the machine does: what processes use, and how fast it is just now."""
