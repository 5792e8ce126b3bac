"""The MCP face: toolsets as values, and the one server for all of them."""
