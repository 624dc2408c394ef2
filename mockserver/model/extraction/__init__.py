"""Filling instances of schemas with what a prompt names and states."""
