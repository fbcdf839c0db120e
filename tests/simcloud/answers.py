# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a handler gives back, and how each service words a refusal."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

NOVA_NAMES = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "conflictingRequest",
    413: "overLimit",
    429: "overLimit",
    500: "computeFault",
    503: "serviceUnavailable",
}
UNAUTHENTICATED = "The request you have made requires authentication."


@dataclass(slots=True)
class Answer:
    """An HTTP answer; a body that is not bytes is sent as JSON. *foreign*: a proxy gives it, not a service."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    foreign: bool = False


class Refusal(Exception):
    """Raised by a handler that refuses; the answer is what the client sees."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(answer.status)


def nova_error(status: int, message: str, **extra: Any) -> Refusal:
    """Return nova's (and cinder's) refusal."""
    name = NOVA_NAMES.get(status, "computeFault")
    return Refusal(Answer(status, {name: {"code": status, "message": message, **extra}}))


def neutron_error(status: int, kind: str, message: str) -> Refusal:
    """Return neutron's refusal of a kind such as ``OverQuota``."""
    return Refusal(Answer(status, {"NeutronError": {"type": kind, "message": message, "detail": ""}}))


def keystone_error(status: int, message: str = UNAUTHENTICATED) -> Refusal:
    """Return keystone's refusal; its middleware in the other services words a 401 the same way."""
    return Refusal(Answer(status, {"error": {"code": status, "message": message, "title": HTTPStatus(status).phrase}}))


def html_page(status: int, message: str) -> Answer:
    """Return the page that glance (and a proxy) sends instead of JSON."""
    title = f"{status} {HTTPStatus(status).phrase}"
    text = (
        f"<html>\n <head>\n  <title>{title}</title>\n </head>\n <body>\n  <h1>{title}</h1>\n"
        f"  {html.escape(message)}<br /><br />\n\n\n </body>\n</html>"
    )
    return Answer(status, text.encode(), content_type="text/html")


def proxy_page(status: int, text: str) -> Answer:
    """Return what a proxy or a firewall sends in the place of a service: a page, or a text."""
    kind = "html" if text.startswith("<") else "plain"
    return Answer(status, text.encode(), content_type=f"text/{kind}; charset=UTF-8", foreign=True)


def glance_error(status: int, message: str) -> Refusal:
    """Return glance's refusal: a page of HTML."""
    return Refusal(html_page(status, message))


def service_error(service: str, status: int, message: str) -> Answer:
    """Return an injected failure as the service itself would word it; a gateway's errors are HTML."""
    if status in (502, 504) or service == "image":
        return html_page(status, message)
    if service == "network":
        return neutron_error(status, "HTTPInternalServerError", message).answer
    if service == "identity":
        return keystone_error(status, message).answer
    return nova_error(status, message).answer
