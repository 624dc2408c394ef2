"""The vocabulary of the project: frozen values and pure functions of the standard library, and of `regex`."""
