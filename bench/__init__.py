"""Benchmarks: the product, bare servers and other mock servers, side by side in one run. `python -m bench --help`."""
