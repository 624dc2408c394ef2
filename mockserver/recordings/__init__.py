"""Reading recorded traffic, and making stubs of it."""
