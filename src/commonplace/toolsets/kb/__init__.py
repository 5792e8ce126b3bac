"""The toolset `kb`: documents, typed entries and their quality, for agents that work on a knowledge base."""
