"""Commands, one per module. The parameters of the function `command` are the command's arguments and options."""
