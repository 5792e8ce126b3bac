"""A wiki on another server, reached through the REST API that the product also serves."""
