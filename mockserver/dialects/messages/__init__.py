"""The wire of Anthropic's Messages API, which others speak too: what requests ask of a model, and answers."""
