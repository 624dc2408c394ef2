"""The admin API, with a module for each of its parts."""
