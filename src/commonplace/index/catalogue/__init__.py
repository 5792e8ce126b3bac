"""What the index knows of documents without opening them: SQLite tables, lists, links."""
