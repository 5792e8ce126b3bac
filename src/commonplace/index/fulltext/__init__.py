"""Full-text search: Tantivy, recent documents, and the ranking of results."""
