"""Git's index: the entries of committed paths, brought up to date."""
