"""The vocabulary of the project: frozen values and pure functions, standard library only."""
