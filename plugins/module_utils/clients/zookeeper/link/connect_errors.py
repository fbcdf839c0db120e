# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explanations, in one sentence, why ZooKeeper could not be reached and what to do about it."""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Mapping

from ....model.config.types import ZooKeeperSettings, ZooKeeperTls
from ....model.errors import StoreError
from .accounts import name_of

try:
    from kazoo.exceptions import AuthFailedError
except ImportError:  # reported by client.require_kazoo
    AuthFailedError = type("AuthFailedError", (Exception,), {})

_AT_ANOTHER_TIME = (9, 10)
"""OpenSSL's errors of a certificate that is not valid yet, or not any more."""


def host_names(settings: ZooKeeperSettings) -> list[str]:
    """Return each server as ``host:port``, IPv6 addresses in brackets."""
    names = []
    for server in settings.servers:
        host = server.host.strip("[]")
        names.append(f"[{host}]:{server.port}" if ":" in host else f"{host}:{server.port}")
    return names


def connection_string(settings: ZooKeeperSettings) -> str:
    """Return all servers in kazoo's format, with the chroot after the last one.

    :raises StoreError: there is no server, or the servers have different chroots.
    """
    if not settings.servers:
        raise StoreError("no ZooKeeper server is configured: add at least one to zookeeper-servers")
    chroots = {"/".join(part for part in server.chroot.split("/") if part) for server in settings.servers}
    if len(chroots) > 1:
        raise StoreError(
            f"the servers {', '.join(host_names(settings))} have different chroots: give all entries of"
            f" zookeeper-servers the same one"
        )
    chroot = chroots.pop()
    return ",".join(host_names(settings)) + (f"/{chroot}" if chroot else "")


def check_tls(tls: ZooKeeperTls) -> None:
    """Check the TLS files before the first connection.

    :raises StoreError: a file cannot be used; the message names the file and the problem.
    """
    for key, path in (("cert", tls.cert), ("key", tls.key), ("ca", tls.ca)):
        if not os.path.isfile(path):
            raise StoreError(f"zookeeper-tls: {key} is {path}, which is not a file: correct the path")
        if not os.access(path, os.R_OK):
            raise StoreError(f"zookeeper-tls: {key} is {path}, which this user cannot read: change its permissions")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with contextlib.suppress(ssl.SSLError, OSError):
        context.load_verify_locations(tls.ca)
    if not context.cert_store_stats()["x509"]:
        raise StoreError(f"zookeeper-tls: ca is {tls.ca}, which has no certificate in PEM format: correct the path")
    try:
        context.load_cert_chain(tls.cert, tls.key, password="")
    except (ssl.SSLError, OSError, ValueError) as problem:
        reason = getattr(problem, "reason", None) or str(problem)
        raise StoreError(
            f"zookeeper-tls: {tls.cert} and {tls.key} cannot be used together ({reason}): both must be in PEM"
            f" format and belong together, and the key must not have a passphrase"
        ) from problem


def refusal(settings: ZooKeeperSettings, failures: Mapping[str, Exception]) -> str:
    """Return why a server does not accept the account; "" when none has refused it."""
    hosts = [host for host, problem in failures.items() if isinstance(problem, AuthFailedError)]
    if settings.auth is None or not hosts:
        return ""
    if settings.auth.scheme == "sasl":
        remedy = (
            "check the password of zookeeper-auth, and that the section Server of ZooKeeper's JAAS file has the account"
        )
    else:
        remedy = (
            "check its enforce.auth.schemes, and whether its DigestAuthenticationProvider is disabled: if so,"
            " use the scheme sasl"
        )
    return f"{', '.join(hosts)}: ZooKeeper does not accept the account {name_of(settings.auth)}: {remedy}"


def explain(
    settings: ZooKeeperSettings,
    failures: Mapping[str, Exception],
    seconds: float,
    tried: Mapping[str, bool] | None = None,
) -> str:
    """Return why none of the servers could be used.

    :param tried: server → whether it accepted the connection; includes a server whose attempt had not ended.
    """
    hosts, tls = host_names(settings), settings.tls is not None
    reasons = {
        host: _silent(tls) if taken else _reason(TimeoutError("timed out"), tls)
        for host, taken in (tried or {}).items()
        if host not in failures
    }
    for host, problem in failures.items():
        silent = (tried or {}).get(host, False) and _is_late(problem)
        reasons[host] = _silent(tls) if silent else _reason(problem, tls)
    unknown = [host for host in hosts if host not in reasons]
    groups: dict[str, list[str]] = {}
    for host, reason in reasons.items():
        groups.setdefault(reason, []).append(host)
    if unknown:
        told = "was not tried, or its name cannot be resolved: check the name and the DNS"
        groups.setdefault(told, []).extend(unknown)
    details = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in groups.items())
    return f"no connection to ZooKeeper within {seconds:g} s: {details}"


def _silent(tls: bool) -> str:
    port = "" if tls else ", and that the port is not one for TLS"
    return (
        f"it accepts the connection, but ZooKeeper does not answer: check its log, that its process is not"
        f" stopped, hung or overloaded{port}"
    )


def _is_late(problem: Exception) -> bool:
    cause = problem.__context__ or problem.__cause__ or problem
    told = " ".join(str(text) for text in (cause, problem) if str(text))
    return isinstance(cause, TimeoutError) or "timed out" in told or "time-out" in told


def _reason(problem: Exception, tls: bool) -> str:
    cause = problem.__context__ or problem.__cause__ or problem
    told = " ".join(str(text) for text in (cause, problem) if str(text))
    if isinstance(cause, ssl.SSLCertVerificationError):
        remedy = "set ca of zookeeper-tls to the CA that signed it"
        if cause.verify_code in _AT_ANOTHER_TIME:
            remedy = "renew it, or the CA's, and check the clock of this host"
        return f"its certificate is not accepted ({cause.verify_message}): {remedy}"
    # How far the handshake has come decides which error a closed connection causes.
    closed = isinstance(cause, (ssl.SSLZeroReturnError, ssl.SSLEOFError)) and getattr(cause, "reason", None) is None
    if isinstance(cause, ssl.SSLError) and not closed:
        return _tls_reason(cause, told)
    if isinstance(cause, ConnectionRefusedError):
        return "it refused the connection: check that ZooKeeper is running there, and the port"
    if _is_late(problem):
        if tls:
            return (
                "it did not answer in time: check that it is reachable, and that the port is one for TLS"
                " (secureClientPort)"
            )
        return (
            "it did not answer in time: check that the host is reachable, that ZooKeeper is not overloaded, and that"
            " the port is not one for TLS"
        )
    if isinstance(cause, OSError) and not isinstance(cause, ConnectionError) and not closed:
        return f"{cause.strerror or cause}: check host, port and network"
    if tls:
        return (
            "it closed the connection during the TLS handshake: check cert and key of zookeeper-tls, that the"
            " port is one for TLS (secureClientPort), and that its ensemble has a quorum"
        )
    return (
        "it closed the connection: check that the port is not one for TLS (zookeeper-tls is not configured),"
        " and that the server is a member of an ensemble with a quorum"
    )


def _tls_reason(cause: ssl.SSLError, told: str) -> str:
    reason = getattr(cause, "reason", None) or told
    if "alert" in told.lower():
        return (
            f"it rejected the client certificate ({reason}): cert of zookeeper-tls must be signed by a CA that the"
            f" server trusts and must not have expired (openssl x509 -noout -dates -in CERT), and key must be its key"
        )
    if reason in ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", "RECORD_LAYER_FAILURE"):
        return f"it does not speak TLS on this port ({reason}): use the server's secureClientPort with zookeeper-tls"
    return f"TLS failed ({reason}): check cert, key and ca of zookeeper-tls"
