"""Read-only data for web pages: one page, lists, overviews and changes of a collection."""
