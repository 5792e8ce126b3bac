"""Replicas: bare clones that follow the branch of a remote, and the writes that go to it."""
