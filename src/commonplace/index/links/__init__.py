"""Queries of links in the catalogue, and the sentences around links."""
