"""Skills: folders of instructions for agents, with their files."""
