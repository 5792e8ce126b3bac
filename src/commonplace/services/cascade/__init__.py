"""The cascade: layers of concepts resolved at read time into one effective graph; nothing is copied."""
