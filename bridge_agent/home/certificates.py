"""The server's certificate: one of its own making, kept in the data folder, or the one of the settings."""

import datetime
import ipaddress
import socket
import ssl
from collections.abc import Iterable
from pathlib import Path

from bridge_agent.base.clock import Clock
from bridge_agent.base.errors import SettingsError
from bridge_agent.base.files import private_folder, write_private
from bridge_agent.web.security import machine_names

Context = ssl.SSLContext | None

# Clients refuse a server's certificate that lives longer than this.
_LIFE = datetime.timedelta(days=825)
_RENEW = datetime.timedelta(days=30)


def context(tls: str, folder: Path, clock: Clock) -> Context:
    """Return the context for the setting `tls`, None for off; touches the disk.

    Raises SettingsError for files that can't be used.
    """
    if tls == "off":
        return None
    if tls == "self-signed":
        certificate, key = _own(folder, clock)
    else:
        certificate, key = (Path(part.strip()).expanduser() for part in tls.split(";"))
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        made.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"BRIDGE_HOME_TLS names {certificate} and {key}, which can’t be used "
            f"({error.strerror or error}); mend the paths or the files."
        ) from error
    return made


def _own(folder: Path, clock: Clock) -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    if not (certificate.is_file() and key.is_file() and _lasts(certificate, clock)):
        private_folder(folder)
        made, secret = _make(clock)
        write_private(key, secret)
        write_private(certificate, made)
    return certificate, key


def _lasts(path: Path, clock: Clock) -> bool:
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError:
        return False
    return found.not_valid_after_utc - clock.now() > _RENEW


def _make(clock: Clock) -> tuple[bytes, bytes]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Bridge home server")])
    now = clock.now()
    names = [x509.DNSName(host) for host in sorted({"localhost", *machine_names()})]
    addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in sorted(_addresses())]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + _LIFE - datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), secret


def _addresses() -> set[str]:
    found = {"127.0.0.1", "::1"}
    for address in _own_addresses():
        found.add(address.partition("%")[0])
    return found


def _own_addresses() -> Iterable[str]:
    try:
        answers = socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        return []
    return [str(answer[4][0]) for answer in answers]
