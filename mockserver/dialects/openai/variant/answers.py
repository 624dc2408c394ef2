"""Answers of vendors that differ a little: what most of them write, what their authors' functions add to it, and what
is wrong with what these give."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from types import UnionType
from typing import Any, NamedTuple, get_args, get_type_hints

from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.http import OPENING, LazyFrames, Reply, TokenTiming
from mockserver.core.installed import mismatches
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.openai.chats import CHAT as _OPENAI_CHAT
from mockserver.dialects.openai.chats import chat_id
from mockserver.dialects.openai.completions import COMPLETION as _OPENAI_COMPLETION
from mockserver.dialects.openai.replies import Flavour, Members, Rendering, ordered, usage_object, write
from mockserver.dialects.openai.streams import at_step

FinishWords = Callable[[Choice], str]
_MEMBERS = ("id", "object", "created", "model", "choices", "usage")


def _around(answer_id: Callable[[RequestScope], str], rendering: Rendering) -> Members:
    """The members around the choices, and the null of a usage that comes in a chunk of its own."""
    request, scope = rendering.generation.request, rendering.scope
    awaited = rendering.flavour.usage == "own" and request.output.stream and request.output.include_usage
    members = {"id": answer_id(scope), "created": int(scope.now), "model": request.model}
    return {**members, "usage": None} if awaited else members


# What most of these vendors write: compact bodies without OpenAI's tiers, fingerprints, refusals, annotations, details
# of the usage and padding, and first of all the role.
CHAT = _OPENAI_CHAT._replace(
    around=partial(_around, chat_id),
    opening=lambda rendering, choice: (
        _OPENAI_CHAT.opening(rendering, choice) or ({"delta": {"role": "assistant", "content": None}},)
    ),
    counts=lambda rendering: usage_object(rendering.generation.usage),
    body=_MEMBERS,
    chunk=_MEMBERS,
    message=("role", "content", "tool_calls", "function_call"),
    plain=None,
    padding=lambda rendering: None,
)
COMPLETION = _OPENAI_COMPLETION._replace(
    around=partial(_around, lambda scope: f"cmpl-{alphanumerics(scope.identity, 29, 'id')}"),
    body=_MEMBERS,
    chunk=_MEMBERS,
    plain=None,
    headers=lambda rendering, around: (),
)

_AROUND = ("around", "opening_around", "closing_around")
# What these functions give is added to what they usually give.
_ADDED = (*_AROUND, "counts", "choice_members")
# What is the same in chats and in completions.
_OF_ANSWERS = (*_ADDED, "ending", "usage", "body", "chunk", "dump")


class Writer(NamedTuple):
    """How the answers of an operation are written: in a flavour to which functions have `added` members, with other
    words for finish reasons, and a comment ahead of streams."""

    flavour: Flavour
    added: Mapping[str, Callable[..., Members]]
    finish_reason: FinishWords | None = None
    comment: str = ""

    def write(self, generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
        """The same as `write`, with what is added behind what the flavour's tables name."""
        if self.finish_reason is not None:
            words: Callable[[Choice], Any] = self.finish_reason
            choices = tuple(each._replace(finish_reason=words(each)) for each in generation.choices)
            generation = generation._replace(choices=choices)
        reply = write(self.naming(Rendering(self.flavour, generation, pace, scope)), generation, pace, scope)
        if not (self.comment and reply.streamed):
            return reply
        ahead = at_step(OPENING, (f"{self.comment}\n\n".encode(),))
        return reply._replace(frames=LazyFrames(lambda: chain((ahead,), reply.frames)))

    def naming(self, rendering: Rendering) -> Flavour:
        """The flavour with what functions add in its tables, which leave out what they do not name."""
        flavour, added = self.flavour, self.added
        wanted = rendering.generation.request.output.include_usage
        if flavour.usage == "own" and "closing_around" in added and not wanted:
            # Without a chunk of the usage, the last one has what stands beside it.
            flavour = flavour._replace(usage="last", chunk=tuple(name for name in flavour.chunk if name != "usage"))
        around = [added[each](rendering) for each in _AROUND if each in added]
        choices, ending = rendering.generation.choices, flavour.ending
        of_choices = [added["choice_members"](rendering, each) for each in choices if "choice_members" in added]
        endings = [] if ending is None else [ending(rendering, each) for each in choices]
        of_messages = [each["message"] for each in of_choices if "message" in each]

        def extended(names: tuple[str, ...], more: Iterable[Members]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(chain(names, *more)))

        return flavour._replace(
            body=extended(flavour.body, around),
            chunk=extended(flavour.chunk, around),
            choice=extended(flavour.choice, of_choices),
            part=extended(flavour.part, endings),
            message=flavour.message and extended(flavour.message, of_messages),
        )

    def try_out(self, generation: Generation, scope: RequestScope) -> tuple[Reply, list[bytes]]:
        """Write an answer in vain: the reply and its frames. Raises what the author's functions raise, and TypeError if
        one gives what it must not."""
        pace = TokenTiming()
        try:
            reply = self.write(generation, pace, scope)
            return reply, [frame for run in reply.frames for frame in run.data]
        except Exception as error:
            added: Mapping[str, Any] = self.added
            defects = [*_defects_of(Rendering(self.flavour._replace(**added), generation, pace, scope))]
            if defects:
                raise TypeError("; ".join(defects)) from error
            raise


def of_completions(own: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of an author's members of a flavour those that completions have too: without messages, and with ids that are
    those of chats but for what they begin with."""
    shared = {name: own[name] for name in _OF_ANSWERS if name in own}
    changed = [name for name in ("around", "choice_members") if name in shared]
    return shared | {name: partial(_of_completion, shared[name]) for name in changed}


def _of_completion(function: Callable[..., Members], *given: Any) -> Members:
    members = function(*given)
    if not isinstance(members, Mapping):
        return members
    answer_id = members.get("id")
    kept = {name: each for name, each in members.items() if name != "message"}
    if isinstance(answer_id, str) and answer_id.startswith("chatcmpl-"):
        kept["id"] = answer_id.removeprefix("chat")
    return kept


def writer(flavour: Flavour, own: Mapping[str, Any], finish_reason: FinishWords | None, comment: str) -> Writer:
    """How answers are written in a flavour with an author's `own` members."""
    added = {name: own[name] for name in _ADDED if name in own}
    flavour = flavour._replace(**{name: each for name, each in own.items() if name not in added})
    if flavour.thoughts and flavour.message and flavour.thoughts not in flavour.message:
        flavour = flavour._replace(message=(*flavour.message[:2], flavour.thoughts, *flavour.message[2:]))
    summed: dict[str, Any] = {name: _sum(getattr(flavour, name), each) for name, each in added.items()}
    return Writer(flavour._replace(**summed), added, finish_reason, comment)


def _sum(usual: Callable[..., Members], own: Callable[..., Members]) -> Callable[..., Members]:
    """What both functions give; of a message, the members of both, where null replaces nothing but what is empty."""

    def both(*given: Any) -> Members:
        members, more = usual(*given), own(*given)
        if "message" not in more:
            return {**members, **more}
        said = members["message"]
        told = {name: value for name, value in more["message"].items() if value is not None or not said.get(name)}
        return {**members, **more, "message": {**said, **told}}

    return both


def _defects_of(rendering: Rendering) -> Iterator[str]:
    """What is wrong with what the functions of the flavour give. Those that raise say so themselves."""
    flavour = rendering.flavour
    given = {Rendering: rendering, Choice: rendering.generation.choices[0], int: 0}
    for name, hint in get_type_hints(Flavour).items():
        # Some functions may be left out.
        function = get_args(hint)[0] if isinstance(hint, UnionType) else hint
        taken, *kind = get_args(function) or (None,)
        if not isinstance(taken, list) or not set(taken) <= given.keys():
            continue
        try:
            found = getattr(flavour, name)(*map(given.__getitem__, taken))
        except Exception:
            continue
        place = f"what {name} gives"
        defects = [*mismatches(found, kind[0], place)]
        yield from defects
        if defects:
            continue
        if name == "segments":
            texts = [each.delta for each in found if each.texts and not callable(each.delta)]
            names, slot = flavour.message, flavour.dump(flavour.slot)
            seen = [each if names is None else ordered(names, each) for each in texts]
            lost = [each for each, members in zip(texts, seen, strict=True) if slot not in flavour.dump(members)]
            where = "" if names is None else f" in one of {', '.join(names)}"
            yield from (f"{place} has no SLOT for the texts{where}: {each!r:.80}" for each in lost)
        elif "delta" in flavour.part and name in ("opening", "closing"):
            parts = [each for each in (found if name == "opening" else (found,)) if each]
            yield from (f"{place} has no 'delta': {each!r:.80}" for each in parts if "delta" not in each)
