"""Plugins: classes that other packages name in an entry point, loaded apart so that none can stop the server."""
