"""commonplace: one knowledge server over Markdown files in Git, for AI agents and for people."""

__version__ = "0.1.0"
