"""What web pages show of a collection: one page, lists, overviews and changes, read-only."""
