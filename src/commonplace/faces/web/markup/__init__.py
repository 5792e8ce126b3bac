"""From Markdown to sanitized HTML."""
