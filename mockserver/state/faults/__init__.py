"""Faults in a namespace: their rules, what they do to a plan, and those that a request asks for."""
