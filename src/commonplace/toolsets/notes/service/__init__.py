"""What the tools of `notes` do, on the services of the core."""
