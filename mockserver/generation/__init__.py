"""What a model says: tokens, prose, and choices that obey their request."""
