"""The toolset `pages`: the pages of a synced space, and the program `cn`."""
