"""Routes for those who operate servers: probes, and announcements of Git hosts."""
