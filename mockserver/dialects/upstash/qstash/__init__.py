"""QStash's messages: published at once, delivered later, with retries and callbacks."""
