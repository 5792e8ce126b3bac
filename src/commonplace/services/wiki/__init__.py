"""A wiki's notes: the operations that chat assistants and the REST API have, on a folder or on another server."""
