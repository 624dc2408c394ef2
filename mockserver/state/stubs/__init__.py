"""Stubs: prepared answers, how they are written, and which requests they are for."""
