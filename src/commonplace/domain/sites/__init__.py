"""Docs trees: where a site generator finds the page of a link, known from its configuration file."""
