"""Git's index: updates of the entries of committed paths."""
