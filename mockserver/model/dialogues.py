"""Dialogues within one text: chats formatted by a client or by a model's chat template, to be completed.

Such a text ends where the model's turn begins, and its topic is the last turn addressed to the model.
"""

import re

# How many characters at the end of a text are searched for the label of the model's turn, and for the turn before it.
_TAIL = 120
_REACH = 8000

# These patterns are compiled with the first text that may be a dialogue, so that the server starts sooner.
# The marks of turns: plain labels, or those of the templates of ChatML, Llama 3, Gemma, Harmony, Phi and GLM, Llama 2
# and Mistral, and Alpaca.
_WORD_GIVEN = (
    r"(?:(?:^|\n)[ \t]*(?:A|Answer|Assistant|AI|Bot|Model|Ответ|Ассистент)[ \t]*:|[ \t]ASSISTANT:"
    r"|<\|im_start\|>assistant|<\|start_header_id\|>assistant<\|end_header_id\|>|<start_of_turn>model"
    r"|<\|start\|>assistant(?:<\|channel\|>final<\|message\|>)?|<[|｜]assistant[|｜]>|\[/INST\]"
    r"|(?:^|\n)###[ ]?(?:Response|Assistant):?)"
    r"\s*(?:<think>\s*(?:</think>\s*)?)?\Z"
)
_TURN = (
    r"(?:(?:^|\n)[ \t]*(?:Q|Question|User|Human|Вопрос|Пользователь)[ \t]*:|[ \t]USER:"
    r"|<\|im_start\|>user|<\|start_header_id\|>user<\|end_header_id\|>|<start_of_turn>user"
    r"|<\|start\|>user<\|message\|>|<[|｜]user[|｜]>|\[INST\](?:\s*<<SYS>>(?:(?!<</SYS>>).)*<</SYS>>)?"
    r"|(?:^|\n)###[ ]?(?:Instruction|Input|User):?)\s*"
)
# What templates write after a turn.
_TURN_END = r"<\|\w+\|>|<｜[^｜\n]{1,40}｜>|<end_of_turn>|</s>|\[/INST\]"
# The start of a dialogue that may end without a label for the model's turn, as LangChain formats messages.
_BEGUN = re.compile(r"\s{0,4}(?:System|Human|User|AI|Assistant|Пользователь):[ \t\n]", re.IGNORECASE)
_LONGEST_LABEL = 20
_LAST_SIGNS = (":", ">", "]", "assistant", "model", "Assistant", "Response")
# The last character rules out most texts.
_LAST_CHARACTERS = frozenset({*" \t\r\n", *(sign[-1] for sign in _LAST_SIGNS)})


def gives_the_word(text: str) -> bool:
    """Whether a text is a dialogue that ends where the model's turn begins."""
    return _word_given(text) is not None


def is_begun(text: str) -> bool:
    """Whether a text begins like a dialogue, which may have no label for the model's turn at its end."""
    return ":" in text[:_LONGEST_LABEL] and _BEGUN.match(text) is not None


def last_turn(text: str) -> str:
    """The last turn addressed to the model in a dialogue; any other text unchanged."""
    if text[-1:] not in _LAST_CHARACTERS and ":" not in text[:_LONGEST_LABEL]:
        return text
    given = _word_given(text)
    if given is None and not is_begun(text):
        return text
    end = text[-_REACH:] if given is None else text[-_REACH - _TAIL : len(text) - len(given[0])]
    starts = [turn.end() for turn in re.finditer(_TURN, end, re.IGNORECASE | re.DOTALL)]
    turn = end[starts[-1] :] if starts else end
    return re.split(_TURN_END, turn, maxsplit=1)[0].strip() or text


def _word_given(text: str) -> re.Match[str] | None:
    """The label of the model's turn at the end of a text, with the white space after it."""
    if text[-1:] not in _LAST_CHARACTERS:
        return None
    tail = text[-_TAIL:]
    return re.search(_WORD_GIVEN, tail, re.IGNORECASE) if tail.rstrip().endswith(_LAST_SIGNS) else None
