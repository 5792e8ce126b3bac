"""Search of a base: the queries, their expansion, and hits made of stored fields."""
