"""Files that a server reads: its config, its stubs, recorded traces; each is noted, so that changes are noticed."""
