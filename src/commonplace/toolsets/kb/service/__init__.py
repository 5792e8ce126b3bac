"""Services for the tools of `kb`, beyond the core services."""
