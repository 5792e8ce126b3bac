"""The catalogue: facts about documents in SQLite tables, lists and links."""
