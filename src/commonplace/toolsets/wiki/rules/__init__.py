"""Notes, links, attachments and searches as values, and the ports that a wiki has."""
