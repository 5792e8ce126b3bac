"""Tree objects of Git: cached, compared and walked."""
