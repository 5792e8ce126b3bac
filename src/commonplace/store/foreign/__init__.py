"""Graphs behind other MCP servers: the process, the messages, and what they mean."""
