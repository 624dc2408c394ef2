"""Verification from a journal: whether expectations are met, and how the client has behaved."""
