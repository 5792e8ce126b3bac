"""What was: the log, versions of documents, and which commits touched them."""
