"""Routes for operators of servers: probes, and webhooks of Git hosts."""
