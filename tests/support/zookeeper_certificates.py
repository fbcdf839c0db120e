# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A CA, a server's and a client's certificate, made with the openssl command."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Certificates:
    """PEM files below *directory*; made at once.

    :param addresses: what the server's certificate is good for; servers of an ensemble look at that.
    :ivar ca: the CA's certificate.
    :ivar server_pair: key and certificate of the server in one file, as ZooKeeper's PEM key store wants it.
    """

    def __init__(self, directory: Path, addresses: tuple[str, ...] = ()) -> None:
        self.directory = directory
        self._addresses = addresses
        self.ca = directory / "ca.pem"
        self.server_pair = directory / "server.pem"
        self.client_cert = directory / "client.crt"
        self.client_key = directory / "client.key"
        if not self.client_cert.exists():
            self._make()

    def _make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._openssl(
            "req", "-x509", *_KEY, "-days", "2", "-subj", "/CN=test CA", "-keyout", "ca.key", "-out", "ca.pem"
        )
        names = ",".join(f"IP:{address}" for address in self._addresses) or "DNS:server"
        (self.directory / "server.ext").write_text(f"subjectAltName={names}\n")
        (self.directory / "client.ext").write_text("subjectAltName=DNS:client\n")
        for name in ("server", "client"):
            self._openssl("req", *_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
            self._openssl(
                "x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-out", f"{name}.crt", "-extfile", f"{name}.ext",
            )  # fmt: skip
        pair = (self.directory / "server.key").read_text() + (self.directory / "server.crt").read_text()
        self.server_pair.write_text(pair)

    def _openssl(self, *arguments: str) -> None:
        done = subprocess.run(
            ["openssl", *arguments], cwd=self.directory, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode:
            raise RuntimeError(f"openssl {arguments[0]} failed: {done.stderr[-500:]}")


_KEY = ("-newkey", "rsa:2048", "-nodes", "-sha256")
