"""Judgements over a journal: whether what was expected has come, and how the client has behaved."""
