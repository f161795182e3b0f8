"""Certificates of one's own making, for a listener's names and addresses; made anew before they run out."""

import datetime
import ipaddress
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

from bridge_agent.base.clock import Clock
from bridge_agent.base.files import private_folder, write_private
from bridge_agent.web.security import machine_names

# Browsers refuse a server's certificate that lives longer than this.
BROWSERS_BELIEVE = datetime.timedelta(days=825)
_RENEW = datetime.timedelta(days=30)


def own(
    folder: Path,
    clock: Clock,
    name: str,
    life: datetime.timedelta = BROWSERS_BELIEVE,
    hosts: Sequence[str] = (),
) -> tuple[Path, Path]:
    """Return a certificate and its key in a folder, made when there is none or it has nearly run out.

    It is good for this machine's names and addresses, and for `hosts` besides. Touches the disk, and raises
    OSError.
    """
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    if not (certificate.is_file() and key.is_file() and _lasts(certificate, clock)):
        private_folder(folder)
        made, secret = _make(clock, name, life, hosts)
        write_private(key, secret)
        write_private(certificate, made)
    return certificate, key


def context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the context to serve with them; raises OSError and ssl.SSLError."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.load_cert_chain(certificate, key)
    return made


def fingerprint(certificate: Path) -> str:
    """Return the SHA-256 of a certificate in a PEM file, hex in lower case."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    return x509.load_pem_x509_certificate(certificate.read_bytes()).fingerprint(hashes.SHA256()).hex()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _lasts(path: Path, clock: Clock) -> bool:
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError:
        return False
    return found.not_valid_after_utc - clock.now() > _RENEW


def _make(clock: Clock, name: str, life: datetime.timedelta, hosts: Sequence[str]) -> tuple[bytes, bytes]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = clock.now()
    numbered = {host for host in hosts if _is_address(host)}
    named = {host.lower() for host in hosts if host.isascii()} - numbered
    names = [x509.DNSName(host) for host in sorted({"localhost", *machine_names(), *named})]
    addresses = [
        x509.IPAddress(ipaddress.ip_address(address)) for address in sorted({*own_addresses(), *numbered})
    ]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + life - datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), secret


def own_addresses() -> set[str]:
    """Return this machine's IP addresses, loopback among them."""
    import psutil

    found = {"127.0.0.1", "::1"}
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family in (socket.AF_INET, socket.AF_INET6):
                found.add(each.address.partition("%")[0])
    return found
