"""A simulator of LLM inference APIs for offline testing.

What tests use is found here, and imported when it is first asked for: `MockServer`, `create_app`, `tool_call`, ...
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockserver.core import __version__
    from mockserver.core.matching.values import CriteriaError
    from mockserver.server.app import create_app
    from mockserver.state.journal.views import View
    from mockserver.state.settings import ConfigError, Settings
    from mockserver.state.stubs.values import StubError
    from mockserver.testing.handle import Handle
    from mockserver.testing.matchers import (
        anything,
        as_json,
        at_least,
        at_most,
        but_not,
        chunk,
        contains,
        error,
        nothing,
        one_of,
        raw,
        refusal,
        regex,
        template,
        tool_call,
    )
    from mockserver.testing.server import MockServer, RemoteServer

_HOMES = {
    "mockserver.state.settings": ("ConfigError", "Settings"),
    "mockserver.state.stubs.values": ("StubError",),
    "mockserver.state.journal.views": ("View",),
    "mockserver.core.matching.requests": ("CriteriaError",),
    "mockserver.core": ("__version__",),
    "mockserver.server.app": ("create_app",),
    "mockserver.testing.handle": ("Handle",),
    "mockserver.testing.matchers": (
        *("anything", "as_json", "at_least", "at_most", "but_not", "chunk", "contains", "error", "nothing", "one_of"),
        *("raw", "refusal", "regex", "template", "tool_call"),
    ),
    "mockserver.testing.server": ("MockServer", "RemoteServer"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ConfigError",
    "CriteriaError",
    "Handle",
    "MockServer",
    "RemoteServer",
    "Settings",
    "StubError",
    "View",
    "__version__",
    "anything",
    "as_json",
    "at_least",
    "at_most",
    "but_not",
    "chunk",
    "contains",
    "create_app",
    "error",
    "nothing",
    "one_of",
    "raw",
    "refusal",
    "regex",
    "template",
    "tool_call",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what is asked for, and nothing before: importing the package costs a millisecond."""
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(home), name)
        return value

    def __dir__() -> list[str]:
        return __all__
