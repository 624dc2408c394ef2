"""Quotas: what one key may ask for in a time, who is let in, and what is charged."""
