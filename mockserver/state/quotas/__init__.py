"""Quotas: how much each key may request in a period, who is admitted, and what is charged."""
