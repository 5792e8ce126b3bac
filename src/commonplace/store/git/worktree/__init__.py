"""Git's rules for files in a work tree: ignore files, attributes, and differences from the last commit.

libgit2 and Git match patterns in time that grows exponentially with their wildcards, and open a pattern file of any
kind. A served folder's patterns are untrusted, so all of them are read and matched here, in bounded time.
"""
