"""Certificates for the vendors' own host names, so that an unchanged client connects to this server as to the vendor.

An authority is created, signs one certificate, and its key is discarded: nobody can sign anything else with what is
left, and a machine that trusts the authority trusts only that certificate.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mockserver.state.settings import ConfigError

LOCAL = ("localhost", "127.0.0.1", "::1")

_AUTHORITY = "mockserver's throw-away authority"

# Some systems reject server certificates with a longer validity.
_DAYS = 397
# A certificate that expires sooner than this is replaced.
_SPARE = timedelta(days=30)
# What the authority's key is for.
_OTHER_USES = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
_SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    **dict.fromkeys(("digital_signature", *_OTHER_USES, "encipher_only", "decipher_only"), False),
)


class Bundle(NamedTuple):
    """The paths of the three files: the authority for clients to trust, and the server's certificate and key."""

    authority: Path
    certificate: Path
    key: Path

    @classmethod
    def of(cls, folder: Path) -> "Bundle":
        """The files in a folder."""
        return cls(folder / "ca.pem", folder / "server.pem", folder / "server-key.pem")


def ensure_certificates(folder: Path, hosts: Sequence[str]) -> tuple[Bundle, bool]:
    """Certificates for the hosts in a folder, and whether they are new: existing valid ones are kept.

    Raises ConfigError if a host name is invalid or the folder cannot be written.
    """
    bundle = Bundle.of(folder)
    names = tuple(dict.fromkeys(host.lower() for host in (*hosts, *LOCAL)))
    general = [_general(name) for name in names]
    if _are_good(bundle, names):
        return bundle, False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _make(bundle, general)
    except OSError as error:
        raise ConfigError(f"certs: {error.filename or folder}: {error.strerror}") from None
    return bundle, True


def names_of(certificate: Path) -> set[str]:
    """The host names and addresses of a certificate."""
    return _names(x509.load_pem_x509_certificate(certificate.read_bytes()))


def _are_good(bundle: Bundle, names: Iterable[str]) -> bool:
    """Whether the files exist, belong together, cover all the names and are valid for a while."""
    try:
        authority = x509.load_pem_x509_certificate(bundle.authority.read_bytes())
        certificate = x509.load_pem_x509_certificate(bundle.certificate.read_bytes())
        key = load_pem_private_key(bundle.key.read_bytes(), None)
        certificate.verify_directly_issued_by(authority)
    except (OSError, ValueError, TypeError, InvalidSignature):
        return False
    lasts = certificate.not_valid_after_utc - datetime.now(UTC) > _SPARE
    return lasts and key.public_key() == certificate.public_key() and set(names) <= _names(certificate)


def _names(certificate: x509.Certificate) -> set[str]:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))}


def _make(bundle: Bundle, names: Sequence[x509.GeneralName]) -> None:
    """Create an authority and a certificate signed by it, and write everything except the authority's key."""
    signing, serving = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    sha = hashes.SHA256()
    authority = (
        _begun(_AUTHORITY, signing)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(signing.public_key()), critical=False)
        .sign(signing, sha)
    )
    certificate = (
        _begun("mockserver", serving)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
        .sign(signing, sha)
    )
    key = serving.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    _write(bundle.key, key, 0o600)
    _write(bundle.certificate, certificate.public_bytes(Encoding.PEM), 0o644)
    _write(bundle.authority, authority.public_bytes(Encoding.PEM), 0o644)


def _begun(name: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _AUTHORITY)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS - 1))
    )


def _general(host: str) -> x509.GeneralName:
    """A host as a name in a certificate. Raises ConfigError if it is invalid."""
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    labels = host.removeprefix("*.").split(".")
    if not all(label and label.replace("-", "").isalnum() and label.isascii() for label in labels):
        raise ConfigError(f"certs: {host!r} is not a host name such as api.cerebras.ai or *.upstash.io")
    return x509.DNSName(host)


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write a file atomically, with its mode from the start."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
    beside.replace(path)
