"""Stubs: prepared answers, how they are written, and for which requests they are."""
