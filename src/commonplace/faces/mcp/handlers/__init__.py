"""What a dialect offers besides tools: resources, prompts, completions for their arguments, and skills."""
