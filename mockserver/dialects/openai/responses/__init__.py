"""What dialects share of the Responses API: input items, output items, and streams of typed, numbered events."""
