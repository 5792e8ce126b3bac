"""How writes become durable together, and what the next start does with an interrupted one."""
