"""Search of pages on a Meilisearch server."""
