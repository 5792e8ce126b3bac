"""Folders of instructions for agents: what makes a folder a skill, and which files belong to it."""
