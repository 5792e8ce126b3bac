"""Local Git by pygit2: commits by plumbing, the index's entries, history."""
