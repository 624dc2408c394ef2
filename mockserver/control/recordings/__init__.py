"""Recorded traffic, read again and made stubs of."""
