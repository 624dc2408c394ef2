"""The journal: what has happened in a namespace, and how it is told."""
