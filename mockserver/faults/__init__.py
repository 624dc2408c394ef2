"""Faults: what can go wrong with an answer, as functions over its timeline, and the rules that say when."""
