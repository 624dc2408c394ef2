"""Deciding on answers: a request meets the state of its namespace."""
