"""Where callers come in: MCP, the command line, and what they share."""
