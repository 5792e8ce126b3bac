"""The files of one folder: contained reading, scanning, and atomic changes of several files."""
