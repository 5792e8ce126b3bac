"""The command `cn`: a synced space on the command line, and as an MCP server for existing client configurations."""
