"""Past states of a folder, with an index each."""
