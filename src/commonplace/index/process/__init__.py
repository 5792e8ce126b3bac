"""Process-wide settings for an index: memory and open files."""
