"""One HTTP server for everything: one guard before all routes, one process to start and stop."""
