"""Skills: folders of instructions for agents, and the files that belong to them."""
