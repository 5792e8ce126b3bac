"""What can be done with collections, one verb family a file; knows ports, never an adapter."""
