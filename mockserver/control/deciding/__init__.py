"""What decides an answer: where a request meets the state of its namespace."""
