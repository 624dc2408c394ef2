"""Support for tests: a handle on one namespace of a server, in this process or elsewhere."""
