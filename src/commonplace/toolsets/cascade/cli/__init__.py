"""The commands on layers."""
