"""Servers, a search cluster and a Git host, each in a network namespace of its own, under load while parts fail."""
