"""The vocabulary of the project: immutable values and pure functions, on the standard library and `regex` alone."""

__version__ = "0.1.0"
