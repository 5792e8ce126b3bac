"""Terminal output: size, line breaks, links to click, and a pager for long answers."""
