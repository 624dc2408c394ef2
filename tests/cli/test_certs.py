"""The command `mockserver certs`: which files it makes and keeps, and that an unchanged client trusts them."""

import os
import socket
import ssl
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509

from mockserver import MockServer
from mockserver.cli import main
from mockserver.cli.certificates import LOCAL, Bundle, names_of
from mockserver.core.installed import load_dialects
from mockserver.state.settings import Settings
from tests.support import bare_root

HOSTS = [host for dialect in load_dialects().values() for host in dialect.hosts]
ASK = Path(__file__).parents[2] / "fixtures/compose/app/ask.py"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("certs")
    assert main(["certs", "--out", str(folder)]) == 0
    return Bundle.of(folder)


def test_certs_are_for_every_vendor_and_for_this_machine(bundle: Bundle) -> None:
    assert names_of(bundle.certificate) == {*HOSTS, *LOCAL}


def test_the_key_is_private_and_that_of_the_authority_is_nowhere(bundle: Bundle) -> None:
    assert stat.S_IMODE(bundle.key.stat().st_mode) == 0o600
    assert sorted(path.name for path in bundle.key.parent.iterdir()) == ["ca.pem", "server-key.pem", "server.pem"]
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with pytest.raises(ssl.SSLError, match="KEY_VALUES_MISMATCH"):
        server.load_cert_chain(bundle.authority, bundle.key)


@pytest.mark.parametrize("host", [*HOSTS, "localhost"])
def test_a_client_that_trusts_the_authority_believes_each_name(host: str, bundle: Bundle) -> None:
    settings = Settings(port=0, latency="off", tls_cert=str(bundle.certificate), tls_key=str(bundle.key))
    trusting = ssl.create_default_context(cafile=bundle.authority)
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        MockServer(settings) as server,
        socket.create_connection(("127.0.0.1", urlsplit(server.url).port)) as plain,
        trusting.wrap_socket(plain, server_hostname=host) as secure,
    ):
        secure.sendall(f"GET /v1/models HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
        assert secure.recv(15).startswith(b"HTTP/1.1 ")


def test_a_name_that_was_not_asked_for_is_refused(bundle: Bundle) -> None:
    settings = Settings(port=0, latency="off", tls_cert=str(bundle.certificate), tls_key=str(bundle.key))
    trusting = ssl.create_default_context(cafile=bundle.authority)
    with (
        MockServer(settings) as server,
        socket.create_connection(("127.0.0.1", urlsplit(server.url).port)) as plain,
        pytest.raises(ssl.SSLCertVerificationError, match=r"not valid for 'example\.com'"),
    ):
        trusting.wrap_socket(plain, server_hostname="example.com")


def test_what_is_still_good_is_kept_until_a_name_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So a machine has to be told only once whom to trust."""
    command, bundle = ["certs", "--out", str(tmp_path)], Bundle.of(tmp_path)
    main(command)
    made = bundle.authority.read_bytes()
    capsys.readouterr()
    main(command)
    assert bundle.authority.read_bytes() == made
    assert capsys.readouterr().out.startswith("Kept, since they are still valid, for ")
    main([*command, "--host", "*.mock.internal", "--host", "10.0.0.7"])
    assert bundle.authority.read_bytes() != made
    assert names_of(bundle.certificate) == {*HOSTS, *LOCAL, "*.mock.internal", "10.0.0.7"}


@pytest.mark.parametrize("spoil", ["ca.pem", "server.pem", "server-key.pem"])
def test_files_that_are_spoilt_are_made_anew(spoil: str, tmp_path: Path) -> None:
    main(["certs", "--out", str(tmp_path)])
    (tmp_path / spoil).write_text("not a certificate")
    main(["certs", "--out", str(tmp_path)])
    [signed] = x509.load_pem_x509_certificates((tmp_path / "server.pem").read_bytes())
    signed.verify_directly_issued_by(x509.load_pem_x509_certificate((tmp_path / "ca.pem").read_bytes()))


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["--host", "no host"], "certs: 'no host' is not a host name such as api.cerebras.ai or *.upstash.io"),
        (["--host", "münchen.example"], "certs: 'münchen.example' is not a host name"),
        (["--out", "/dev/null/certs"], "certs: /dev/null/certs: Not a directory"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certs", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"mockserver: {complaint}")


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert main(["certs", "--out", str(tmp_path)]) == 2
    assert "pip install 'llm-mockserver[tls]'" in capsys.readouterr().err


UNCHANGED = """
set -e
mount --bind "$HOSTS_FILE" /etc/hosts
"$PYTHON" -c "from tests.support.bare_root import raise_loopback; raise_loopback()"
export MOCKSERVER_TLS_CERT="$1/server.pem" MOCKSERVER_TLS_KEY="$1/server-key.pem" MOCKSERVER_PORT=443
"$PYTHON" -m mockserver serve --latency off --log-level warning > /dev/null &
server=$!
until "$PYTHON" -m mockserver health > /dev/null 2>&1; do kill -0 "$server"; sleep 0.02; done
SSL_CERT_FILE="$1/ca.pem" "$PYTHON" "$2"
kill "$server"
"""


@pytest.mark.skipif(bare_root.why_not() is not None, reason=str(bare_root.why_not()))
def test_an_unchanged_client_reaches_the_mock_by_the_vendors_name(bundle: Bundle, tmp_path: Path) -> None:
    """The example application as it would run in production, where the vendor's name leads to the mock."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost api.cerebras.ai\n")
    shell = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", UNCHANGED, "sh"]
    environment = os.environ | {"HOSTS_FILE": str(hosts), "PYTHON": sys.executable}
    done = subprocess.run(
        [*shell, str(bundle.key.parent), str(ASK)], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "capital" in done.stdout.lower()
