"""Sources from outside: URLs under a guard, and files that become Markdown in a process of their own."""
