"""The Responses API as the dialects share it: items in, items out, and a stream of typed, numbered events."""
