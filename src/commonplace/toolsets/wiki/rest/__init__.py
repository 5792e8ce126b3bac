"""The REST API of the wiki: rows, what each does, and what goes in and out."""
