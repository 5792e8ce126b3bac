"""Incremental search for a page: the choices and the screen."""
