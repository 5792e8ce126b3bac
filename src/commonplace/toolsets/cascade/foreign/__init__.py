"""Foreign graphs behind other MCP servers: process, messages, and graph port."""
