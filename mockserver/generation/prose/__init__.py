"""Answers in words: which text a prompt gets, its writer, and what sampling parameters do to its words."""
