"""Reading recorded traffic, making stubs of it, and comparing it with the dialects' answers."""
