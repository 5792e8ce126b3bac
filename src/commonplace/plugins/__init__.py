"""Plugins: classes that packages name in an entry point. A failing plugin does not stop the server."""
