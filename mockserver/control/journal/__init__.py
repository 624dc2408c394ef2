"""The journal: what has happened in a namespace, and the forms in which others read it."""
