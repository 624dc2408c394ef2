"""Commands that make files: stubs, certs, client, tokenizer."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mockserver.cli.command import Command, argument, complain
from mockserver.cli.settled import checked_names, settings_of
from mockserver.core.naming import counted
from mockserver.state.settings import ConfigError


def _stubs(options: argparse.Namespace) -> int:
    from mockserver.cli.inputs import bytes_of
    from mockserver.core.installed import load_dialects
    from mockserver.server.files.recordings import complaints, stem_of, stubs_from, text_of, write_stubs

    # Existing stubs must not influence how a request is read.
    settings = replace(settings_of(options), stubs=None, stub=())
    checked_names(settings)
    source = str(options.recording)
    made = stubs_from(bytes_of(source), source, settings, load_dialects(), paced=options.pace)
    for complaint in complaints(made.lost):
        complain(f"{source}, {complaint}")
    if not made.stubs:
        complain(f"{source}: no stub can be made from it")
        return 1
    if options.out is None:
        sys.stdout.write(text_of(made))
        return 0
    path = write_stubs(made, stem_of(source), options.out)
    files = counted(len(made.files), "file")
    print(f"Written: {path}, with {counted(len(made.stubs), 'stub')}, and {files} beside it")
    print(f"Serve: mockserver serve --stubs {options.out}")
    return 0


def _certs(options: argparse.Namespace) -> int:
    from mockserver.cli.certificates import ensure_certificates, names_of
    from mockserver.core.installed import load_dialects

    vendors = [host for dialect in load_dialects().values() for host in dialect.hosts]
    bundle, new = ensure_certificates(options.out, [*vendors, *options.host])
    names = ", ".join(sorted(names_of(bundle.certificate)))
    print(f"{'Made' if new else 'Kept, since they are still valid'}, for {names}:")
    print(f"  {bundle.authority}  the authority that clients must trust; its key was not kept")
    print(f"  {bundle.certificate}, {bundle.key}  for the server")
    print(f"Serve: mockserver serve --tls-cert {bundle.certificate} --tls-key {bundle.key}")
    print(f"Trust: SSL_CERT_FILE={bundle.authority} (Python), NODE_EXTRA_CA_CERTS={bundle.authority} (Node)")
    return 0


def _client(options: argparse.Namespace) -> int:
    from mockserver.testing.javascript import client_files

    _write(client_files(), options.out)
    print(f"Written: {options.out / 'mockserver.mjs'}, and its types in mockserver.d.mts beside it")
    print("In a test: const mock = (await MockServer.connect()).namespace()")
    print("Run the tests: mockserver run -- npm test")
    return 0


def _tokenizer(options: argparse.Namespace) -> int:
    from mockserver.model.tokenizer_files import tokenizer_files

    _write(tokenizer_files(), options.out)
    print(f"Written: {options.out / 'tokenizer.json'}, and tokenizer_config.json beside it")
    print(f"Load: transformers.AutoTokenizer.from_pretrained({str(options.out.resolve())!r})")
    return 0


def _write(files: Mapping[str, str], folder: Path) -> None:
    """Write files, each by its name, to a folder that need not exist yet."""
    if folder.is_file():
        raise ConfigError(f"{folder}: is a file; --out names a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}") from None


MAKING = (
    Command(
        "stubs",
        _stubs,
        "make stubs from recorded traffic: a journal, an HTTP Archive (HAR) or a cassette of vcrpy",
        (
            argument("recording", type=Path, metavar="FILE", help="*.jsonl, *.har or *.yaml; - for standard input"),
            argument("--out", type=Path, metavar="DIR", help="the folder for the stub file and long bodies"),
            argument("--pace", action="store_true", help="answer as fast as recorded"),
        ),
        takes_settings=True,
        matter=("dialect", "edition"),
        about="Each stub matches requests like the recorded one and returns the recorded answer byte for byte. API "
        "keys and cookies are left out. Without --out the stubs are printed, unless a body needs a file of its own. "
        "Use the settings of the server that will use the stubs: its routes and its edition matter.",
    ),
    Command(
        "certs",
        _certs,
        "make certificates for the vendors' host names",
        (
            argument(
                "--out", type=Path, default=Path("certs"), metavar="DIR", help="the folder to write to (default: certs)"
            ),
            argument(
                "--host",
                action="append",
                default=[],
                metavar="NAME",
                help="another host name, such as mock.internal; may be repeated",
            ),
        ),
    ),
    Command(
        "client",
        _client,
        "write the handle for tests in JavaScript and TypeScript: mockserver.mjs and its types",
        (
            argument(
                "--out", type=Path, default=Path("test"), metavar="DIR", help="the folder to write to (default: test)"
            ),
        ),
        about="One module for Node.js 18 or newer, without dependencies, to keep under version control beside the "
        "tests. Its types contain the dialects, faults and checks of this version, so run the command again after an "
        "update.",
    ),
    Command(
        "tokenizer",
        _tokenizer,
        "write the tokenizer in the format of Hugging Face, for tools that count tokens themselves",
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
    ),
)
