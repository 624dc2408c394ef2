"""Tool calls: which tools a model calls, and what their arguments are."""
