"""Transports of MCP messages: standard input and output, and HTTP."""
