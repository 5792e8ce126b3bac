"""The vectors of one collection: on disk for all processes, and in memory for search."""
