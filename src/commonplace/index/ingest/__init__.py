"""How files get into the index: read, parsed by this process or by others, and written in one transaction."""
