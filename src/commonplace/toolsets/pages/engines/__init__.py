"""Search engines for the pages of a space: the folder's own index, and search servers.

All implement `toolsets.pages.rules.queries.PageEngine`; callers outside this package do not distinguish them.
"""
