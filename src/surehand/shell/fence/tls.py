"""TLS on both sides of the fence: a throw-away key toward the browser, the system's trust toward the app.

Laws of this module:

- The key toward the browser is made at start, lives in memory, and is trusted by the one browser that is told its hash.
- The certificate of an app is verified, always; an extra authority can be added, verification cannot be taken away.
"""

import base64
import hashlib
import ipaddress
import os
import secrets
import ssl
import tempfile
from asyncio import StreamReader, StreamWriter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_PROTOCOLS = ["http/1.1"]
_VALID = timedelta(days=90)
_READ_SIZE = 65_536

#: The first byte of a TLS connection.
TLS_HANDSHAKE = 0x16


class LeafKey:
    """One key for every certificate that the browser is shown."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def spki(self) -> str:
        """The base64 SHA-256 of the public key, as ``--ignore-certificate-errors-spki-list`` takes it."""
        encoding, shape = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        public = self._key.public_key().public_bytes(encoding, shape)
        return base64.b64encode(hashlib.sha256(public).digest()).decode()

    def context(self, host: str) -> ssl.SSLContext:
        """The server side context for a host, with a certificate in its name."""
        if host not in self._contexts:
            self._contexts[host] = self._mint(host)
        return self._contexts[host]

    def _mint(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(_PROTOCOLS)
        _load_from_memory(context, self._key, self._certificate(host.strip("[]")))
        return context

    def _certificate(self, host: str) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "surehand fence")])
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + _VALID)
            .add_extension(x509.SubjectAlternativeName([_subject(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _subject(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _load_from_memory(context: ssl.SSLContext, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    """Hand key and certificate to the ``ssl`` module, which only takes them by path.

    Where the system has files without a disk, one of those is used; elsewhere a temporary file whose key is sealed by a
    password that is never written.
    """
    password = secrets.token_bytes(32)
    sealed = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password),
    )
    content = sealed + certificate.public_bytes(serialization.Encoding.PEM)
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("leaf"), "wb") as file:
            file.write(content)
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password=password)
    else:  # pragma: no cover (systems without memfd)
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(content)
            file.flush()
            context.load_cert_chain(file.name, password=password)


def upstream_context(extra_authority: Path | None, *, http2: bool = False) -> ssl.SSLContext:
    """The client side context toward apps: the system's trust, and the authority of a company or a test beside it.

    Chain, name and dates are verified. Formal faults that no browser minds (an authority without a key usage) are not
    looked for, also not by the Pythons that do so by default (3.13 and later): an app that people can open would be
    out of reach.

    Args:
        extra_authority: A PEM file of that authority.
        http2: Whether HTTP/2 is offered instead of HTTP/1.1, to learn whether an app speaks nothing else.

    Raises:
        OSError: The extra authority cannot be read (``ssl.SSLError`` when it holds no certificate).
    """
    context = ssl.create_default_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["h2"] if http2 else _PROTOCOLS)
    if extra_authority is not None:
        context.load_verify_locations(extra_authority)
    return context


class TlsServer:
    """The server side of TLS on top of streams, so that bytes which were read before are not lost."""

    def __init__(self, reader: StreamReader, writer: StreamWriter, context: ssl.SSLContext) -> None:
        self._reader, self._writer = reader, writer
        self._received, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._outgoing, server_side=True)

    async def handshake(self, first: bytes) -> None:
        """Shake hands; ``first`` are the bytes that were read already.

        Raises:
            OSError: The browser does not agree, or is gone.
        """
        self._received.write(first)
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                if not await self._receive():
                    raise ConnectionResetError from None
            else:
                await self.drain()
                return

    async def read(self, size: int) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        while True:
            try:
                return self._tls.read(size)
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLWantReadError:
                if not await self._receive():
                    return b""

    async def _receive(self) -> bool:
        await self.drain()
        data = await self._reader.read(_READ_SIZE)
        self._received.write(data)
        return bool(data)

    def write(self, data: bytes) -> None:
        """Encrypt and hand over."""
        self._tls.write(data)

    async def drain(self) -> None:
        """Wait until the transport takes more."""
        if self._outgoing.pending:
            self._writer.write(self._outgoing.read())
        await self._writer.drain()

    def close(self) -> None:
        """Close the transport; what was handed over is still sent."""
        if self._outgoing.pending:
            self._writer.write(self._outgoing.read())
        self._writer.close()
