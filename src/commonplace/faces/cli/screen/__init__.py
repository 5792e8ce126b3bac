"""Terminal output: size, line wrapping, hyperlinks, and a pager for long answers."""
