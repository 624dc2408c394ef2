"""`mockserver tokenizer`: the tokenizer as files that Hugging Face's libraries load, for tools that count tokens.

Load generators and evaluations count prompts and answers with the tokenizer of the model that they test. With these
files they count what the server counts, without a network.

The format has no model like that of `model/tokens.py`, but two parts that give the same ids together: characters are
spelled as bytes, each as one printable character (`ByteLevel`), and a pretoken is split greedily into the longest
entries of the vocabulary (`WordPiece`). All bytes are in the vocabulary, so nothing is unknown.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from mockserver.cli.command import Command, argument, write_files
from mockserver.model.schema import compact
from mockserver.model.tokens import BOS, EOS, VOCABULARY_SIZE, pretoken, token_bytes


def write_tokenizer(options: argparse.Namespace) -> int:
    """Write the tokenizer's files, and say how to load them."""
    write_files(_files(), options.out)
    print(f"Written: {options.out / 'tokenizer.json'}, and tokenizer_config.json beside it")
    print(f"Load: transformers.AutoTokenizer.from_pretrained({str(options.out.resolve())!r})")
    return 0


COMMAND = Command(
    write_tokenizer,
    (
        argument(
            "--out",
            type=Path,
            default=Path("tokenizer"),
            metavar="DIR",
            help="the folder to write to (default: tokenizer)",
        ),
    ),
    about="Load generators and evaluations (GuideLLM, AIPerf, `vllm bench serve`, lm-eval) load the tokenizer of "
    "the model that they test. Give them this folder instead: it needs no download, and they count the tokens that "
    "the server counts, whatever the model.",
)


# Tools look for these names in texts, so they are unlike any that a prompt may contain.
_BOS_NAME = "<|mockserver_bos|>"
_EOS_NAME = "<|mockserver_eos|>"
# The longest pretoken has far fewer bytes.
_MOST_BYTES = 1000
_LONGEST_PROMPT = 1_000_000
# What the classes of our expression mean to Python, in Unicode's properties: every engine has words and white space of
# its own. To Python, a combining mark is no part of a word, and the four separators of ASCII are white space.
_CLASSES = {
    r"(?!\S)": r"(?![^\s\x1c-\x1f])",
    r"[^\W\d_]": r"[\p{L}\p{Nl}\p{No}]",
    r"[^\w\s]": r"[^\p{L}\p{N}_\s\x1c-\x1f]",
    r"\d": r"\p{Nd}",
    r"\t{1,12}|\s": r"\t{1,12}|[\s\x1c-\x1f]",
}
# The server answers a chat in this form, sent as the prompt of a completion, as a chat.
_CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _files() -> dict[str, str]:
    """The content of each file by its name."""
    names = {"bos_token": _BOS_NAME, "eos_token": _EOS_NAME, "pad_token": _EOS_NAME}
    settings = {
        **names,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": _LONGEST_PROMPT,
        "clean_up_tokenization_spaces": False,
        "chat_template": _CHAT_TEMPLATE,
    }
    return {
        "tokenizer.json": compact(_tokenizer()),
        "tokenizer_config.json": json.dumps(settings, indent=2) + "\n",
    }


def _tokenizer() -> dict[str, Any]:
    spelling = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    cuts = {"type": "Split", "pattern": {"Regex": _cuts()}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_special(EOS, _EOS_NAME), _special(BOS, _BOS_NAME)],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [cuts, spelling]},
        "post_processor": None,
        "decoder": spelling,
        "model": {
            "type": "WordPiece",
            "unk_token": _EOS_NAME,
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": _MOST_BYTES,
            "vocab": _spelled_vocabulary(),
        },
    }


def _special(id: int, name: str) -> dict[str, Any]:
    """A token that has a name instead of a text."""
    sides = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": name, **sides, "special": True}


def _cuts() -> str:
    """The expression that cuts a text, for other engines than Python's."""
    cuts = pretoken(ascii=False).pattern
    for ours, theirs in _CLASSES.items():
        cuts = cuts.replace(ours, theirs)
    return cuts


def _spelled_vocabulary() -> dict[str, int]:
    letters = _letters()
    ids = (id for id in range(VOCABULARY_SIZE) if id not in (BOS, EOS))
    own = {"".join(letters[byte] for byte in token_bytes(id)): id for id in ids}
    return own | {_EOS_NAME: EOS, _BOS_NAME: BOS}


def _letters() -> list[str]:
    """The characters for the bytes as `ByteLevel` has them: printable ones for themselves, others from U+0100 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = (byte for byte in range(256) if byte not in printable)
    codes = {byte: 256 + place for place, byte in enumerate(others)}
    return [chr(codes.get(byte, byte)) for byte in range(256)]
