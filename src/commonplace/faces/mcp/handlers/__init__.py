"""Handlers for everything besides tools: resources, prompts, completions of their arguments, and skills."""
