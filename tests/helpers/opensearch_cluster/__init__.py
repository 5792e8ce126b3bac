"""A real OpenSearch cluster for tests: fetched through Maven, verified, and run as processes on 127.0.0.1."""
