"""History: the log, versions of documents, and the commits that touched them."""
