"""Several processes behind one port: the supervisor that starts them, and their shared state."""
