"""Stubs: prepared answers, for which requests they are, and how they become what a dialect says."""
