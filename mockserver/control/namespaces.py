"""Namespaces: whose state a request sees. A path, a header or an API key names one; the first that does counts."""

from mockserver.core.calls import Headers

DEFAULT = ""

_PREFIX = "/ns/"
_KEY = "mock-ns-"


def namespace_of(path: str, headers: Headers) -> tuple[str, str]:
    """The namespace of a request, and its path without it.

    `/ns/<name>/...`, else the header `X-Mockserver-Namespace`, else an API key `mock-ns-<name>`, else the default one.
    """
    if path.startswith(_PREFIX):
        name, _, rest = path[len(_PREFIX) :].partition("/")
        return name, f"/{rest}"
    named = headers.get("x-mockserver-namespace")
    if named:
        return named, path
    _, _, key = (headers.get("authorization") or "").partition(" ")
    return key.strip().removeprefix(_KEY) if key.strip().startswith(_KEY) else DEFAULT, path
