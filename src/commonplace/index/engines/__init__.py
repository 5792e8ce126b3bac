"""Search engines for the pages of a space: the index of the folder itself, and search servers.

What they have in common is `domain.pages.ports.PageEngine`; nothing above this package knows one from another.
"""
