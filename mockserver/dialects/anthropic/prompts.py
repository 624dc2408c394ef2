"""Conversations of content blocks: what the model reads of them (facts A4, A5), and the tokens they count (A14)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from mockserver.core.generation import Message, Prompt
from mockserver.core.seeding import fingerprint
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.images import image_size
from mockserver.model.tokens import token_count

Block = Mapping[str, Any]

# What is counted beside the texts: of any conversation, each of its messages, tools of any number and a call that is
# forced, a schema, and thinking.
_CONVERSATION, _MESSAGE, _TOOLS, _FORCED, _SCHEMA, _THINKING = 3, 4, 430, 100, 190, 20
# A document whose pages cannot be counted; and an image of unknown size, in pixels for each token.
_DOCUMENT, _SIDES, _PIXELS = 1_500, (1_092, 1_092), 750


class Reading(NamedTuple):
    """A conversation as the model reads it, and how many characters of its text stand before the last cache mark: None
    if there is no mark."""

    prompt: Prompt
    marked: int | None


def blocks_of(content: object) -> Sequence[Block]:
    """The blocks of a content; a text stands for one, unless it is empty."""
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else ()


def read_conversation(body: Body, most_of_image: int = 1_600) -> Reading:
    """The system prompt and the messages as one prompt; its topic is the text of the last message that has one of the
    user's. An image counts `most_of_image` tokens at most."""
    names: dict[str, str] = {}
    history, lines, count, size = list[Message](), list[str](), _CONVERSATION + _fixed(body), 0
    marked: int | None = 0 if any(tool.get("cache_control") for tool in body.get("tools") or ()) else None
    topic, last = None, ""
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    for number, message in enumerate((*system, *body["messages"])):
        role, texts, calls, line = message["role"], list[str](), list[str](), f"{message['role']}: "
        count += _MESSAGE if number >= len(system) else 0
        for block in blocks_of(message["content"]):
            said, media = _said(block, most_of_image)
            count += token_count(said) + media
            line += said
            if block["type"] == "tool_use":
                names[block["id"] if block.get("id") else ""] = block["name"]
                calls.append(block["name"])
            elif block["type"] == "tool_result":
                id_ = str(block.get("tool_use_id", ""))
                history.append(Message("tool", said, names.get(id_, id_)))
            else:
                texts.append(said)
            if block.get("cache_control"):
                marked = size + len(line)
        text = "".join(texts)
        if texts or calls or role != "user":
            history.append(Message(role, text, None, tuple(calls)))
        topic, last = text if role == "user" and text else topic, text or last
        lines.append(line)
        size += len(line) + 1
    whole = "\n".join(lines)
    prompt = Prompt(whole, last if topic is None else topic, count, chat=True, messages=tuple(history))
    return Reading(prompt, len(whole) if body.get("cache_control") else marked)


def _fixed(body: Body) -> int:
    """The tokens of everything but the texts."""
    count, choice = 0, body.get("tool_choice") or {}
    if body.get("tools"):
        forced = _FORCED if choice.get("type") in ("any", "tool") else 0
        count += _TOOLS + forced + token_count(orjson.dumps(body["tools"]).decode())
    count += _SCHEMA if (body.get("output_config") or {}).get("format") or body.get("output_format") else 0
    return count + (_THINKING if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive") else 0)


def _said(block: Block, most_of_image: int) -> tuple[str, int]:
    """What the model reads of a block as text, and how many more tokens it counts; nothing of earlier thoughts."""
    kind, source = block["type"], block.get("source")
    if kind == "text":
        return block["text"], 0
    if kind == "tool_use":
        return f"{block['name']}({orjson.dumps(block['input']).decode()})", 0
    if kind == "tool_result":
        return _joined(blocks_of(block.get("content")), most_of_image)
    if kind == "search_result":
        said, count = _joined(blocks_of(block["content"]), most_of_image)
        return f"{block['title']}\n{said}\n", count
    if kind not in ("image", "document") or not isinstance(source, dict):
        return "", 0
    if source["type"] == "text":
        return f"{block.get('title') or ''}\n{source['data']}\n", 0
    if source["type"] == "content":
        return _joined(blocks_of(source["content"]), most_of_image)
    place = next((str(source[key]) for key in ("data", "url", "file_id") if source.get(key)), "")
    seen = f"[{kind} {fingerprint(place.encode())}]"
    if kind == "document":
        return seen, _DOCUMENT - token_count(seen)
    url = f"data:;base64,{place}" if source["type"] == "base64" else place
    width, height = image_size(url) or _SIDES
    return seen, min(-(-width * height // _PIXELS), most_of_image) - token_count(seen)


def _joined(blocks: Sequence[Block], most_of_image: int) -> tuple[str, int]:
    parts = [_said(block, most_of_image) for block in blocks]
    return "".join(said for said, _ in parts), sum(count for _, count in parts)


def cache_marks(body: Body) -> Iterator[tuple[str, str]]:
    """The marks of a prompt's caching in their order, the automatic one last: the path of each, and its lifetime."""
    lists = [("tools", body.get("tools")), ("system", body.get("system"))]
    lists += [(f"messages.{number}.content", each["content"]) for number, each in enumerate(body["messages"])]
    for path, blocks in lists:
        for place, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if block.get("cache_control"):
                yield f"{path}.{place}.cache_control", block["cache_control"].get("ttl") or "5m"
    if body.get("cache_control"):
        yield "cache_control", body["cache_control"].get("ttl") or "5m"
