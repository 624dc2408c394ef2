"""The vendors' APIs: one folder each."""
