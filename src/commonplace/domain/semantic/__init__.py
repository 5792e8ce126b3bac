"""Semantic search: chunks, ports, and the fusion with keyword search."""
