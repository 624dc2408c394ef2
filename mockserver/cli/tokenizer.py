"""`mockserver tokenizer`: the tokenizer in the format of Hugging Face."""

import argparse
from pathlib import Path

from mockserver.cli.command import Command, argument, write_files
from mockserver.model.tokenizer_files import tokenizer_files


def write_tokenizer(options: argparse.Namespace) -> int:
    """Write the tokenizer's files, and say how to load them."""
    write_files(tokenizer_files(), options.out)
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
