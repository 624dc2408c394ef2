"""Each vendor's official client, unchanged but for its base URL and key, over a real socket against our server."""
