"""One package a toolset; `registration` finds them, and nothing else imports one."""
