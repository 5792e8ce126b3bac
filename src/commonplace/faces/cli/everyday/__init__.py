"""Commands for a person's day: make, open, move and delete a page; look around."""
