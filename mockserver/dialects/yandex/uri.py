"""Model URIs: `gpt://<folder>/<model>[/<version>]`, and `emb://...` for embeddings (vendor note A1)."""

import re
from typing import NamedTuple

_FORM = re.compile(r"(?:gpt|emb)://[^/\s]+/[^/\s]+(?:/[^/\s]+)?")
# "version `latest` (default)"
_DEFAULT_VERSION = "latest"
# "`latest` | `rc` | `deprecated`; tuned: `.../<version>@<suffix>`"
_VERSION = re.compile(r"(?:latest|rc|deprecated)(?:@.+)?")


class ModelUri(NamedTuple):
    """The parts of a model URI; the folder is the customer's account, not the model's."""

    scheme: str
    folder: str
    name: str
    version: str = _DEFAULT_VERSION

    def __str__(self) -> str:
        return f"{self.scheme}://{self.folder}/{self.name}/{self.version}"

    @property
    def without_folder(self) -> str:
        """The form in which vLLM's answers state the model."""
        return f"{self.scheme}://{self.name}/{self.version}"

    @property
    def model(self) -> tuple[str, str, str]:
        """The identity of the model, whichever folder it is called from."""
        return self.scheme, self.name, self.version

    @property
    def has_known_version(self) -> bool:
        """Whether the version has a valid form."""
        return _VERSION.fullmatch(self.version) is not None


def parse_uri(text: str) -> ModelUri | None:
    """The parts of a URI, with the default version if it states none; None if the text is not a model URI."""
    if not _FORM.fullmatch(text):
        return None
    scheme, _, rest = text.partition("://")
    return ModelUri(scheme, *rest.split("/"))
