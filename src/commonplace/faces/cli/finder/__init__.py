"""Finds a page as a person types: what is found, and the screen that shows it."""
