"""Client of a wiki on another server, over the REST API that the product also serves."""
