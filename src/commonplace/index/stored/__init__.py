"""The forms in which the catalogue stores what it cannot hold in plain columns."""
