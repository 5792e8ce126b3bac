"""Use cases on collections, one verb family per file. Depends on ports, never on adapters."""
