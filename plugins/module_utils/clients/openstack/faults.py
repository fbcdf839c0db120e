# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a Cloud* error from an answer, or from the lack of one. Pure."""

from __future__ import annotations

import contextlib
import email.utils
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

from ...model.bounded_text import bounded
from ...model.errors import (
    CloudAuthError,
    CloudConflict,
    CloudError,
    CloudNotFound,
    CloudQuotaRefused,
    CloudRefused,
    CloudUnavailable,
)
from ...model.redaction import LONGEST_LINE, MASK, redacted
from .error_type import error_type
from .hops import is_foreign, not_by
from .kinds import CINDER, NEUTRON, NOVA, service_of
from .quota import (
    is_quota_text,
    quota_resources,
)
from .sentences import explained

_MOST_HTML = 256 * 1024
"""Letters of a page of HTML that are looked at."""


class _Text(HTMLParser):
    """A parser that collects the readable words of an HTML page."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("script", "style", "title")

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in ("script", "style", "title")))

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.extend(data.split())


def _from_html(body: str) -> str:
    page = _Text()
    # Some versions of the parser raise it for a marked section with an unknown keyword; the words before it are kept.
    with contextlib.suppress(AssertionError):
        page.feed(body[:_MOST_HTML])
    return " ".join(page.words)


def _from_json(document: Any, depth: int = 0) -> str:
    """Return the sentence in an error document of any service: the first ``message``, ``detail`` or ``title`` found."""
    if isinstance(document, str):
        return document
    if isinstance(document, Mapping) and depth < 4:
        for key in ("message", "faultstring", "detail", "title"):
            if isinstance(document.get(key), str) and document[key]:
                return str(document[key])
        children: Iterable[Any] = document.values()
    elif isinstance(document, list) and depth < 4:
        children = document
    else:
        return ""
    texts = (_from_json(child, depth + 1) for child in children if isinstance(child, (Mapping, list)) or depth == 0)
    return next((text for text in texts if text), "")


def clean(text: str, secrets: Iterable[str] = ()) -> str:
    """Return *text* bounded, on one line, without *secrets* and anything that looks like a token or password."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, MASK)
    return bounded(" ".join(redacted(bounded(text, LONGEST_LINE)).split()))


def message_of(body: str, secrets: Iterable[str] = ()) -> str:
    """Return the message in an error body: JSON of nova, neutron, cinder, glance or keystone, HTML, or plain text."""
    stripped = body.strip()
    try:
        text = _from_json(json.loads(stripped))
    except (ValueError, RecursionError):
        text = _from_html(stripped) if "<" in stripped else stripped
    return clean(text, secrets)


_WAY = ": check the proxies on the way to the cloud, and its endpoints"
_CREATES = frozenset({"POST /servers", "POST /floatingips"})
"""The calls of a launch that make something."""
_SAYS_MORE = frozenset({407, 408, 413, 425, 429})
"""What these statuses mean does not depend on who has sent them."""
_TOO_FAST = re.compile(r"overlimit|rate.?limit|too many requests", re.IGNORECASE)


def retry_after_seconds(value: str | None, now: Callable[[], datetime]) -> float | None:
    """Return the seconds that a Retry-After header asks for; None when it is absent or unreadable.

    :param value: a number of seconds, or an HTTP date, which is compared with *now*.
    """
    if not value:
        return None
    try:
        return max(0.0, float(int(value.strip())))
    except ValueError:
        pass
    except OverflowError:
        return None
    try:
        when = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - now()).total_seconds())


def proxy_of(status: int, headers: Mapping[str, str]) -> str:
    """Return words that name the proxy on the way to the cloud if it gave the answer itself, "" if it did not.

    :param headers: headers of the answer, case-insensitive.
    """
    error = headers.get("X-Squid-Error")
    if status != 407 and not error:
        return ""
    name = clean(headers.get("Server") or "")
    detail = ", ".join(part for part in (name, clean(error or "")) if part)
    return (
        " by the proxy on the way to the cloud" + (f" ({detail})" if detail else "") + ", not by the cloud:"
        " check http_proxy,"
        " https_proxy and no_proxy"
    )


def is_from_before(call: str, body: str, headers: Mapping[str, str]) -> bool:
    """Return True for a refusal of nova, neutron or cinder that none of them has given; glance refuses by pages."""
    return service_of(call) in (NOVA, NEUTRON, CINDER) and is_foreign(body, headers)


def changes_something(method: str) -> bool:
    """Return True for a method whose call may have taken effect although it had no good answer."""
    return method.upper() not in ("GET", "HEAD", "OPTIONS")


def error_from_answer(
    *,
    provider: str,
    call: str,
    status: int,
    body: str,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> CloudError:
    """Return the error for an answer with *status* that is not a success.

    :param call: the kind of call; its first word is the method.
    :param headers: headers of the answer, case-insensitive.
    """
    said = message_of(body, secrets)
    hop = proxy_of(status, headers or {})
    foreign = is_from_before(call, body, headers or {})
    retry_after = retry_after_seconds((headers or {}).get("Retry-After"), now)
    told = bounded(explained(said, service_of(call)))
    message = f"provider {provider}: {call} was answered with {status}{hop}" + (f": {told}" if told else "")
    context: dict[str, Any] = {"provider": provider, "call": call, "status": status, "retry_after": retry_after}
    context["error_type"] = error_type(body)
    changing = changes_something(call.split(" ", 1)[0])
    before = "" if hop else f" {not_by(service_of(call), body)}"
    what = f"was answered with {status}{hop}{before}" + (f" ({told})" if told else "") + ("" if hop else _WAY)
    of_account = status in (401, 403) and not changing and bool(hop or foreign)
    of_one = status == 404 and foreign and (call.startswith("DELETE ") or call.endswith("{id}"))
    if of_account or of_one:
        # Only a service could say something about the account, or that something is gone.
        return error_without_answer(provider=provider, call=call, what=what, sent=True, secrets=secrets)
    if foreign and call in _CREATES and 400 <= status < 500 and status not in _SAYS_MORE:
        return CloudRefused(f"provider {provider}: {call} {what}", **context, foreign=True)
    if status == 401:
        return CloudAuthError(message, **context)
    if status >= 500 or status in (407, 408, 425, 429) or status < 400:
        return CloudUnavailable(message, unclear=changing and (status >= 500 or status < 400), **context)
    if status in (400, 403, 409, 413) and changing and is_quota_text(said):
        return CloudQuotaRefused(message, resources=quota_resources(said), **context)
    if status == 413 and (retry_after is not None or _TOO_FAST.search(body)):
        # Old versions of nova answer so when a client is too fast. A proxy says with 413 that the body is too large.
        return CloudUnavailable(message, **context)
    kind = {404: CloudNotFound, 409: CloudConflict}.get(status, CloudRefused)
    return kind(message, **context, foreign=foreign and status == 404 and not changing)


def error_without_answer(
    *, provider: str, call: str, what: str, sent: bool, secrets: Iterable[str] = (), status: int | None = None
) -> CloudUnavailable:
    """Return the error for a call that got no usable answer.

    :param what: what happened, e.g. ``no answer within 30 s``.
    :param sent: False when it is certain that the request never reached the service.
    :param status: of an answer whose content makes no sense; None without an answer.
    """
    return CloudUnavailable(
        f"provider {provider}: {call}: {clean(what, secrets)}",
        provider=provider,
        call=call,
        status=status,
        unclear=sent and changes_something(call.split(" ", 1)[0]),
    )
