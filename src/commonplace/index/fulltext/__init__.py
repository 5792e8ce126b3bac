"""The words of documents: Tantivy's full text, what is newer than it, and the answers to searches."""
