"""Local Git with pygit2: commits, index entries, history."""
