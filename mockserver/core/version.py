"""The version of the product: the one place where it is written for Python."""

__version__ = "0.1.0"
