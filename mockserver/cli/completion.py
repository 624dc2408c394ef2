"""`mockserver completion`: a script for bash, which zsh can also read."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Mapping
from typing import get_args

from mockserver.cli.command import COMMANDS, Command, load_command
from mockserver.core.installed import load_dialects
from mockserver.faults.catalogue import FAULTS
from mockserver.latency.profiles import OFF, REALISTIC, presets
from mockserver.state.settings.options import OPTIONS
from mockserver.state.verify.client_review import Handling, Outcome

# Completes words only: where there are none, the shell completes files.
_SCRIPT = """\
# Completion of mockserver for bash and zsh, made by mockserver completion.
if [ -n "${{ZSH_VERSION-}}" ]; then autoload -Uz compinit bashcompinit && compinit -u && bashcompinit; fi
_mockserver() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words="" each
  for each in "${{COMP_WORDS[@]:1:$((COMP_CWORD - 1))}}"; do [ "$each" = -- ] && return; done
  [ "$before" = "=" ] && before="${{COMP_WORDS[COMP_CWORD-2]}}"
  case "$before" in
{values}
  esac
  if [ -z "$words" ]; then
    case "$COMP_CWORD:${{COMP_WORDS[1]}}:$word" in
      1:*) words={commands} ;;
{options}
{places}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _mockserver mockserver
"""


def print_script(options: argparse.Namespace) -> int:
    """Print the script for all commands, with the installed dialects and presets."""
    commands = {name: load_command(name) for name in COMMANDS}
    values = {flag: words for flag, words in _values().items() if words}
    script = _SCRIPT.format(
        values="\n".join(f"    {flag}) words={_quoted(words)} ;;" for flag, words in values.items()),
        commands=_quoted((*commands, "--help", "--version")),
        options="\n".join(
            f"      *:{name}:-*) words={_quoted((*each.flags, '--help'))} ;;" for name, each in commands.items()
        ),
        places="\n".join(
            f"      2:{name}:*) words={_quoted(each.words)} ;;" for name, each in commands.items() if each.words
        ),
    )
    sys.stdout.write(script)
    return 0


def _values() -> Mapping[str, Iterable[str]]:
    dialects = load_dialects()
    operations = (operation.name for dialect in dialects.values() for operation in dialect.operations)
    return {
        **{option.flag: ("true", "false") if option.switch else option.choices for option in OPTIONS},
        "--dialect": list(dialects),
        "--latency": [OFF, REALISTIC, *presets()],
        "--fault": list(FAULTS),
        "--operation": list(dict.fromkeys(operations)),
        "--handles": get_args(Handling),
        "--outcome": get_args(Outcome),
    }


def _quoted(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))


COMMAND = Command(print_script, about='In ~/.bashrc or ~/.zshrc: eval "$(mockserver completion)"')
