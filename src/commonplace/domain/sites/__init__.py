"""Docs trees: targets of links by the rules of a site generator, read from its configuration file."""
