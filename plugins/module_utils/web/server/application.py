# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The WSGI application: it calls the handler of the request's path, and adds headers to every answer."""

from __future__ import annotations

import gc
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...model.errors import ConfigError
from .. import exposition, gate_logs, health_endpoints, nodepool_endpoints
from ..libraries import HTTPException, Map, Request, Response, Rule
from ..page import routes as page
from ..picture import Picture, Snapshot
from ..routing import Route

_LOG = logging.getLogger(__name__)

ROUTES: tuple[Route, ...] = (
    *health_endpoints.ROUTES,
    *nodepool_endpoints.ROUTES,
    *exposition.ROUTES,
    *gate_logs.ROUTES,
    *page.ROUTES,
)
METHODS = ("GET", "HEAD")
LONGEST_QUERY = 2048
"""Most characters of a query string; longer ones are refused with 414."""
_CODING = re.compile(r'-(?:gzip|br|zstd)"')
"""The suffix that Apache appends to the ETag of an answer that it compresses. No ETag of this service ends with it."""
STATE_AGE = "X-Nodepool-State-Age"
"""Header of every answer while ZooKeeper does not answer: seconds since the tree was last known."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


CROSS_ORIGIN = "Access-Control-Allow-Origin"
"""Header by which browsers let pages of other sites read an answer. Nodepool's web service always sends it."""


_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")


def prefix_of(path: str) -> str:
    """Return *path* without a slash at its end.

    :raises ConfigError: it is no path of a URL.
    """
    prefix = path.rstrip("/")
    if not _PREFIX.fullmatch(prefix):
        raise ConfigError(
            [f"path_prefix: {path!r} is not a path such as /nodepool: use letters, digits, -, ., _ and ~"]
        )
    return prefix


@dataclass(frozen=True)
class Visitors:
    """Who may read the answers in a browser.

    :ivar cross_origin: True: pages of any other site, as with Nodepool's web service.
    :ivar hosts: names by which the service is called, without ports; empty for any. A page of a foreign site whose name
        was made to lead here (DNS rebinding) calls the service by that name.
    :ivar prefix: path below which a proxy has the service and which it leaves in the paths of its requests, such as
        ``/nodepool``; "" for none. All links are relative, so a proxy that takes the prefix away needs nothing.
    """

    cross_origin: bool = False
    hosts: tuple[str, ...] = ()
    prefix: str = ""

    def enter(self, environ: dict[str, Any]) -> None:
        """Take the prefix from the path of a request that has it, as WSGI provides for."""
        path = environ.get("PATH_INFO", "")
        if self.prefix and path.startswith(f"{self.prefix}/"):
            environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + self.prefix
            environ["PATH_INFO"] = path.removeprefix(self.prefix)

    def is_entrance(self, path: str) -> bool:
        """Return True for the prefix without a slash, below which relative links would lead astray."""
        return bool(self.prefix) and path == self.prefix

    def knows(self, host: str) -> bool:
        """Return True when the service may be called by the name of a header ``Host``."""
        name, _colon, port = host.rpartition(":")
        name = name if name and port.isdigit() else host
        return not self.hosts or name.lower().rstrip(".") in {known.lower().rstrip(".") for known in self.hosts}


@lru_cache(maxsize=2)
def map_of(routes: tuple[Route, ...]) -> Map:
    """Return the router, for which werkzeug compiles code for each path: once for all applications of a process."""
    rules = [Rule(route.path, endpoint=route) for route in routes]
    return Map(rules, strict_slashes=True, merge_slashes=False, redirect_defaults=False)


class Application:
    """The WSGI application.

    :param picture: the tree that the answers are made from.
    :param routes: no two may have the same path.
    """

    def __init__(self, picture: Picture, routes: Iterable[Route] = ROUTES, visitors: Visitors | None = None) -> None:
        self._picture = picture
        self._visitors = visitors or Visitors()
        self._map = map_of(tuple(routes))

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
        if "HTTP_IF_NONE_MATCH" in environ:
            environ["HTTP_IF_NONE_MATCH"] = _CODING.sub('"', environ["HTTP_IF_NONE_MATCH"])
        # Some proxies ask for a WebSocket always; then the router would find no page.
        environ.pop("HTTP_UPGRADE", None)
        self._visitors.enter(environ)
        request = Request(environ)
        snapshot = self._picture.snapshot()
        response = self._answer(request, environ, snapshot)
        if response.status_code == 200:
            if not response.is_streamed:
                response.add_etag()
            response.make_conditional(request)
        if not self._visitors.cross_origin:
            response.headers.pop(CROSS_ORIGIN, None)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if snapshot.contact.age and not snapshot.contact.connected:
            response.headers[STATE_AGE] = f"{snapshot.contact.age:.0f}"
        return response(environ, start_response)

    def prepare(self) -> None:
        """Render the first page before the first visitor requests it."""
        try:
            page.prepare(self._picture.snapshot())
        except Exception:
            _LOG.exception("the page could not be created")
        # The records that were read stay for a long time: the garbage collector need not visit them again and again.
        gc.collect()
        gc.freeze()

    def _answer(self, request: Request, environ: dict[str, Any], snapshot: Snapshot) -> Response:
        if request.method not in METHODS:
            return refusal(405, "this service is read-only: use GET or HEAD", Allow=", ".join(METHODS))
        if not self._visitors.knows(environ.get("HTTP_HOST", "")):
            return refusal(421, "this service does not answer to this host name: add it to the option allowed_hosts")
        if len(environ.get("QUERY_STRING", "")) > LONGEST_QUERY:
            return refusal(414, f"a query can have {LONGEST_QUERY} characters at most")
        if self._visitors.is_entrance(request.path):
            # A browser resolves it: the name and port by which the visitor calls the proxy are not known here.
            there = f"{self._visitors.prefix.rpartition('/')[2]}/"
            return refusal(308, "the service is below this path", Location=f"./{there}")
        try:
            route, arguments = self._map.bind_to_environ(environ).match(method="GET")
        except HTTPException:
            return refusal(404, "there is no such page")
        try:
            if route.needs_tree and snapshot.contact.age is None:
                told = f"the tree has not been read yet: {snapshot.contact.problem}"
                return refusal(503, told, **{"Retry-After": "5"})
            answer: Response = route.handler(snapshot, request, **arguments)
        except HTTPException as problem:
            return refusal(problem.code or 500, problem.description or problem.name)
        except Exception:
            _LOG.exception("no answer to %s %r", request.method, request.path)
            return refusal(500, "the answer could not be created; see the journal of the service")
        return answer


def refusal(status: int, told: str, **headers: str) -> Response:
    """Return an error as a line of text with the reason."""
    return Response(f"{told}\n", status, headers={"Cache-Control": "no-store", **headers}, mimetype="text/plain")
