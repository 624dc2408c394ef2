"""Sockets: connections as uvicorn accepts them, what lies below HTTP, and answers written to them directly."""
