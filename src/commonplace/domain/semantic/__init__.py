"""Meaning beside words: what is compared, what comes of it, and one order out of both."""
