"""The REST API of the wiki: endpoints, handlers and models."""
