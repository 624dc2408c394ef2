"""Matching: what is required of a request, the notation of that, and where a request differs from it."""
