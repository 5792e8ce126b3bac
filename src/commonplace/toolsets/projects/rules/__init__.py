"""Project knowledge: instructions, chaptered documents and to-do lists, and the rules of their files."""
