# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics for statsd, configured by the environment: STATSD_HOST, STATSD_PORT (8125) and STATSD_PREFIX.

Code that notes a metric never waits and never fails: a separate thread resolves the host and sends, and metrics that
cannot be sent are dropped. It tells once that the host cannot be resolved. Nothing is sent without STATSD_HOST.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

try:
    import statsd
except ImportError:
    HAS_STATSD = False
else:
    HAS_STATSD = True

DEFAULT_PORT = 8125
PACE = 1.0
"""Seconds for which metrics are collected, so that many are sent in one packet."""
RETRY = 60.0
"""Seconds until a host name that could not be resolved is resolved again."""
MOST_WAITING = 20_000
"""Maximum number of metrics that are kept until they can be sent; older ones are dropped."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._+-]")
"""Characters that would end a name (a blank, a colon, a bar), or that a store behind statsd may not accept: Graphite
keeps the metric a.b as a/b, so that a slash would make one metric of two."""


class Sink(Protocol):
    """An object that takes metrics."""

    def incr(self, name: str, count: int = 1) -> None:
        """Add *count* to a counter."""

    def gauge(self, name: str, value: float) -> None:
        """Set a gauge to *value*."""

    def timing(self, name: str, seconds: float) -> None:
        """Note a duration."""


def clean(text: str) -> str:
    """Return *text* as (a part of) the name of a metric: other characters are replaced by ``_``."""
    return _NOT_IN_NAMES.sub("_", text)


class _Bare:
    """A sink for metrics with full names."""

    def __init__(self, put: Callable[[str, str, float], None]) -> None:
        self._put = put

    def incr(self, name: str, count: int = 1) -> None:
        self._put("incr", name, count)

    def gauge(self, name: str, value: float) -> None:
        self._put("gauge", name, value)

    def timing(self, name: str, seconds: float) -> None:
        self._put("timing", name, 1000.0 * seconds)


class Statsd(_Bare):
    """A sink that sends metrics by UDP. ``with Statsd.of_environment(os.environ) as sink:``

    :ivar problem: why nothing is sent although a host is named; None when there is no problem or no host is named.
        It changes when the host cannot be resolved, and when it is resolved at last.
    :ivar bare: a sink for metrics with full names: *prefix* is not added to them.
    :param make: makes the library's client; it may block and may fail.
    :param tell: takes a new problem once; called in the thread of the sink.
    """

    def __init__(
        self,
        host: str | None,
        port: str | int = DEFAULT_PORT,
        prefix: str | None = None,
        *,
        make: Callable[[str, int], Any] | None = None,
        tell: Callable[[str], None] = lambda problem: None,
    ) -> None:
        before = f"{prefix}." if prefix else ""
        super().__init__(lambda kind, name, value: self._note(kind, before + name, value))
        self.bare: Sink = _Bare(self._note)
        self.problem: str | None = None
        self._tell = tell
        self._waiting: deque[tuple[str, str, float]] = deque(maxlen=MOST_WAITING)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        if not host:
            return
        if make is None and not HAS_STATSD:
            self.problem = (
                "STATSD_HOST is set, but the Python library statsd is not installed, so no metrics are sent: install it"
            )
        elif not str(port).isdecimal() or not 0 < int(port) < 65536:
            self.problem = f"STATSD_PORT is {str(port)!r}: give a number from 1 to 65535; no metrics are sent"
        else:
            arguments = (make or _client, host, int(port))
            self._thread = threading.Thread(target=self._run, args=arguments, name="statsd", daemon=True)
            self._thread.start()

    @classmethod
    def of_environment(cls, environ: Mapping[str, str], tell: Callable[[str], None] = lambda problem: None) -> Statsd:
        """Make a sink from STATSD_HOST, STATSD_PORT and STATSD_PREFIX, the variables that Nodepool reads.

        :param tell: takes a problem that is found later, once; called in the thread of the sink.
        """
        port = environ.get("STATSD_PORT") or DEFAULT_PORT
        return cls(environ.get("STATSD_HOST"), port, environ.get("STATSD_PREFIX"), tell=tell)

    def __enter__(self) -> Statsd:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.close()

    @property
    def wanted(self) -> bool:
        """False when noted metrics are not sent, so that callers need not compute them."""
        return self._thread is not None

    def close(self) -> None:
        """Send the noted metrics; wait at most PACE seconds for that."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(PACE)

    def _note(self, kind: str, name: str, value: float) -> None:
        if self._thread is not None:
            self._waiting.append((kind, clean(name), value))

    def _run(self, make: Callable[[str, int], Any], host: str, port: int) -> None:
        client = None
        over = False
        while not over:
            over = self._over.wait(PACE if client is not None or not self._waiting else 0.0)
            try:
                if client is None and self._waiting:
                    client = make(host, port)
                    self.problem = None
                if client is not None:
                    self._send(client)
            except (OSError, ValueError) as problem:
                if client is None:
                    self._unresolved(host, problem)
                over = over or self._over.wait(RETRY)
        if client is not None:
            client.close()

    def _unresolved(self, host: str, problem: Exception) -> None:
        """Note why there is no client, and tell it the first time."""
        why = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        known = self.problem
        self.problem = (
            f"statsd: the host {host!r} of STATSD_HOST cannot be resolved ({why}), so no metrics are sent: correct it,"
            f" or the name server; it is tried again every {RETRY:.0f} s"
        )
        if known is None:
            self._tell(self.problem)

    def _send(self, client: Any) -> None:
        """Send all waiting metrics in few packets."""
        if not self._waiting:
            return
        with client.pipeline() as packets:
            while self._waiting:
                kind, name, value = self._waiting.popleft()
                getattr(packets, kind)(name, value)


def _client(host: str, port: int) -> Any:
    return statsd.StatsClient(host, port, ipv6=":" in host)
