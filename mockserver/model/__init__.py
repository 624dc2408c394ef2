"""What a model generates: tokens, prose, and choices that follow their request."""
