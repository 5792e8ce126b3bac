"""Faces: MCP, the command line, REST, web pages and the language server, and the code that they share."""
