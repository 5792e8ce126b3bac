"""Search engines for the pages of a space: the folder's own index, and search servers.

All implement `domain.pages.ports.PageEngine`; callers outside this package do not distinguish them.
"""
