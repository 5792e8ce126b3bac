"""The toolset `projects`: one store of instructions, documents and to-do lists, synchronized with a remote."""
