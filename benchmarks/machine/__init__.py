"""Measurements of the machine: resource usage of processes, and its current speed."""
