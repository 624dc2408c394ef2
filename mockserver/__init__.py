"""A simulator of LLM inference APIs for offline testing."""

__version__ = "0.1.0"
