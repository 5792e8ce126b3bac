"""Replicas: bare clones that follow the branch of a remote and are never written to otherwise."""
