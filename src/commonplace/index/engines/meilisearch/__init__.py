"""Pages searched on a Meilisearch server."""
