"""What a terminal can show: its size, lines that fit it, links to click, and a pager for what is longer."""
