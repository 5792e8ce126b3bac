"""Vaults as Obsidian keeps them, written for tests."""
