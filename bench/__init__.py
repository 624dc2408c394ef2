"""Benchmarks: the product, bare servers and other mock servers, compared in one run. See `python -m bench --help`."""
