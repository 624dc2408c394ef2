"""`mockserver certs`: certificates for the vendors' host names."""

import argparse
from importlib.util import find_spec
from pathlib import Path

from mockserver.cli.command import Command, argument
from mockserver.core.installed import load_dialects
from mockserver.state.settings import ConfigError


def make_certs(options: argparse.Namespace) -> int:
    """Make certificates unless valid ones are there, and say how to use them."""
    if find_spec("cryptography") is None:
        raise ConfigError("certs: certificates need the library cryptography: pip install 'llm-mockserver[tls]'")
    from mockserver.cli.certificates import ensure_certificates, names_of  # the library is not always installed

    vendors = [host for dialect in load_dialects().values() for host in dialect.hosts]
    bundle, new = ensure_certificates(options.out, [*vendors, *options.host])
    names = ", ".join(sorted(names_of(bundle.certificate)))
    print(f"{'Made' if new else 'Kept, since they are still valid'}, for {names}:")
    print(f"  {bundle.authority}  the authority that clients must trust; its key was not kept")
    print(f"  {bundle.certificate}, {bundle.key}  for the server")
    print(f"Serve: mockserver serve --tls-cert {bundle.certificate} --tls-key {bundle.key}")
    print(f"Trust: SSL_CERT_FILE={bundle.authority} (Python), NODE_EXTRA_CA_CERTS={bundle.authority} (Node)")
    return 0


COMMAND = Command(
    make_certs,
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
)
