"""Dialogues within one text: chats that were written out, by a client or by a model's chat template, to be completed.

Such a text ends where the model has the word, and what it is about is what was said to the model last.
"""

import re

# How much of a text's end is looked at for the label that gives the model the word, and for what was said before it.
_TAIL = 120
_REACH = 8000

# These patterns are compiled with the first text that may be a dialogue: a server starts the sooner.
# How turns are marked: by labels of one's own, or by the templates of ChatML, Llama 3, Gemma, Harmony, Phi and GLM,
# Llama 2 and Mistral, and Alpaca.
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
# What a template writes behind a turn.
_TURN_END = r"<\|\w+\|>|<｜[^｜\n]{1,40}｜>|<end_of_turn>|</s>|\[/INST\]"
# A dialogue that gives nobody the word, as LangChain writes out messages.
_BEGUN = r"\s{0,4}(?:System|Human|User|AI|Assistant|Пользователь):[ \t\n]"
_LONGEST_LABEL = 20
_LAST_SIGNS = (":", ">", "]", "assistant", "model", "Assistant", "Response")
# Most texts are no dialogues, and their last character says so.
_LAST_CHARACTERS = frozenset({*" \t\r\n", *(sign[-1] for sign in _LAST_SIGNS)})


def gives_the_word(text: str) -> bool:
    """Whether a text is a dialogue that ends where the model has the word."""
    return _word_given(text) is not None


def is_dialogue(text: str) -> bool:
    """Whether a text is a dialogue at all, with the word given to the model or to nobody."""
    return _is_begun(text) or gives_the_word(text)


def last_turn(text: str) -> str:
    """What was said to the model last in a dialogue; any other text as it is."""
    given = _word_given(text)
    if given is None and not _is_begun(text):
        return text
    said = text[-_REACH:] if given is None else text[-_REACH - _TAIL : len(text) - len(given[0])]
    begun = [turn.end() for turn in re.finditer(_TURN, said, re.IGNORECASE | re.DOTALL)]
    turn = said[begun[-1] :] if begun else said
    return re.split(_TURN_END, turn, maxsplit=1)[0].strip() or text


def _word_given(text: str) -> re.Match[str] | None:
    """The label at the end of a text that gives the model the word, with the blanks behind it."""
    if text[-1:] not in _LAST_CHARACTERS:
        return None
    tail = text[-_TAIL:]
    return re.search(_WORD_GIVEN, tail, re.IGNORECASE) if tail.rstrip().endswith(_LAST_SIGNS) else None


def _is_begun(text: str) -> bool:
    return ":" in text[:_LONGEST_LABEL] and re.match(_BEGUN, text, re.IGNORECASE) is not None
