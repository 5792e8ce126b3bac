"""Stored forms of values that do not fit into plain columns of the catalogue."""
