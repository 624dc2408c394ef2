"""The encoding of every plain answer: compact JSON, unescaped UTF-8, and a newline (vendor note A1 and A3)."""

import orjson

from mockserver.core.generation import Generation
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.bodies import body_reply


def json_reply(value: object, generation: Generation | None = None) -> Reply:
    """A reply with one JSON body, due when the generation is complete, or at once if there is none."""
    # "body ends in `\n`"
    return body_reply(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE), generation)
