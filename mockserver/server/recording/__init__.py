"""The recorder: requests are forwarded to the vendors, and what they answer is written to a file."""
