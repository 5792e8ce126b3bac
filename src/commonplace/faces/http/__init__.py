"""The HTTP server: one process and one guard for all routes."""
