"""The admin API, a module for each of its parts."""
