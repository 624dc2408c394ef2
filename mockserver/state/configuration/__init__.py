"""Configuration: settings are read from options, environment, config files and Python, and checked."""
