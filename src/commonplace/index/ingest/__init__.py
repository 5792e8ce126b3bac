"""Ingestion: files are read, parsed by this process or by others, and written in one transaction."""
