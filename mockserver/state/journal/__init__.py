"""The journal: what has happened in a namespace, and the formats in which it can be read."""
