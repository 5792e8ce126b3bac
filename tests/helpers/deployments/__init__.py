"""The same suites on other deployments: each folder behind a Git remote, and a replica that serves it."""
