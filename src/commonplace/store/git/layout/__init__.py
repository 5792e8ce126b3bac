"""What lies in a repository's own folder (gitrepository-layout(5)), checked before it is used.

A `.git` folder can come from anybody, so every name, path and number in it is outside text.
"""
