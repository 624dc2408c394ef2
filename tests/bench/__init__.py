"""Benchmarks: the product, bare servers and other mock servers in one run. See `python -m tests.bench --help`."""
