# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explain in a sentence, without the libraries' internal terms, why a call got no answer and what to do. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

_KINDS = (
    (("NameResolutionError", "gaierror"), "no connection: the name {host} cannot be resolved", "spell"),
    (("Connection refused",), "no connection: {place} refused it", "up"),
    (("No route to host", "Network is unreachable"), "no connection: there is no route to {place}", "up"),
    (("ConnectTimeout", "timed out"), "no connection: {place} does not answer", "up"),
)
_PROXY = (
    (("NameResolutionError", "gaierror"), "its name cannot be resolved"),
    (("Connection refused",), "it refused the connection"),
    (("No route to host", "Network is unreachable"), "there is no route to it"),
    (("407",), "it requires a login (407)"),
    (("Tunnel connection failed",), "it does not connect to {place}"),
    (("ConnectTimeout", "timed out"), "it does not answer"),
    (("",), "it did not forward the call"),
)
_TUNNEL = re.compile(r"Tunnel connection failed: ([\w ]{1,60})")
_TLS = (
    (("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"), "{place} does not speak TLS", "http"),
    (
        ("Hostname mismatch", "is not valid for", "doesn't match"),
        "the certificate of {place} is for another name",
        "name",
    ),
    (("has expired",), "the certificate of {place} has expired", "renew"),
    (("CERTIFICATE_VERIFY_FAILED", "certificate verify failed"), "the certificate of {place} is not trusted", "ca"),
)
_REMEDIES = {
    "spell": "correct auth_url of {where}, or the DNS resolver of this machine",
    "up": "check auth_url of {where}, and that the cloud is up",
    "http": "write http:// in auth_url of {where}, or correct its port",
    "name": "use that name in auth_url of {where}",
    "renew": "renew it",
    "ca": "name its CA in 'cacert' of {where}",
}
_ELSEWHERE = {
    "spell": "the name is from the catalog of the cloud: correct the catalog, or the DNS resolver of this machine",
    "up": "check that this service of the cloud is up",
    "http": "the URL is from the catalog of the cloud: correct the catalog",
    "name": "correct the catalog or the certificate",
}
_INSIDE = (
    "the catalog of the cloud has this internal address: set 'interface' of {where} to public, correct the"
    " catalog, or give this machine a route to it"
)
_POOL = re.compile(r"^(?:\w*(?:Pool|Connection)\([^)]*\)|<urllib3\.[^>]*>): ")
_DETAIL = re.compile(r"certificate verify failed: ([^(']+)")


def unreached(problem: BaseException, tls: bool, url: str, where: str, login_url: str, proxy: str = "") -> str | None:
    """Return the sentence for *problem* of requests; None when its kind is not known.

    :param tls: True for a problem of TLS.
    :param url: URL of the call.
    :param where: names the entry of clouds.yaml.
    :param login_url: auth_url of that entry; a call to another host or port has its URL from the cloud's catalog.
    :param proxy: host and port of the proxy by which the URL is called, "" when there is none.
    """
    host, port = _place(url)
    place = host if port is None else f"{host}:{port}"
    text = " ".join(_texts(problem))
    if "ProxyError" in text:
        return _by_proxy(text, place, proxy)
    for words, sentence, remedy in _TLS if tls else _KINDS:
        if any(word in text for word in words):
            told = sentence.format(host=repr(host), place=place)
            detail = _DETAIL.search(text) if remedy == "ca" else None
            told = f"no TLS connection: {told}" if tls else told
            told += f" ({detail[1].strip()})" if detail else ""
            own, asked = _place(login_url), (host, port)
            remedies = _REMEDIES if own == asked else {**_REMEDIES, **_ELSEWHERE}
            remedy_words = (
                _INSIDE if remedy == "up" and _is_inside(host) and not _is_inside(own[0]) else remedies[remedy]
            )
            return f"{told}: {remedy_words.format(where=where)}"
    return None


def _by_proxy(text: str, place: str, proxy: str) -> str:
    """Return the sentence for a proxy that cannot be used: the cloud itself was not asked."""
    why = next(sentence for words, sentence in _PROXY if any(word in text for word in words)).format(place=place)
    answer = _TUNNEL.search(text)
    detail = f" ({answer[1].strip()})" if answer and "407" not in why else ""
    named = f"the proxy {proxy}" if proxy else "the proxy"
    return (
        f"no connection: {named} on the way to {place} cannot be used: {why}{detail}: correct http_proxy, https_proxy"
        " or no_proxy of this process, or check that the proxy is up"
    )


def _is_inside(host: str) -> bool:
    """Return True for a private address, which only machines of the same site reach."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def innermost_words(problem: BaseException) -> str:
    """The words of what *problem* was made from, without those of the libraries around it."""
    seen = problem
    for _unused in range(10):
        # urllib3's error about repetitions has its cause in an attribute.
        causes = *seen.args, getattr(seen, "reason", None)
        inner = next((cause for cause in causes if isinstance(cause, BaseException)), None)
        if inner is None:
            break
        seen = inner
    words = getattr(seen, "strerror", None) or str(seen)
    return _POOL.sub("", words) or type(seen).__name__


def _place(url: str) -> tuple[str, int | None]:
    """Return the host and port of a URL, without its login."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "the cloud", parts.port
    except ValueError:
        return "the cloud", None


def _texts(problem: BaseException) -> Iterator[str]:
    """Yield the type and text of an exception and of each of its causes."""
    seen: BaseException | None = problem
    for _unused in range(10):
        if seen is None:
            return
        yield f"{type(seen).__name__} {seen}"
        seen = seen.__cause__ or seen.__context__
