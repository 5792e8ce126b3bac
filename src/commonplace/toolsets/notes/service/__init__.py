"""Services for the tools of `notes`, on the services of the core."""
