"""The commands, one a module, each a function `command` whose parameters are its arguments and options."""
