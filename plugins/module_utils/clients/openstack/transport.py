# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP adapter through which every call of a client passes, including those for tokens and discovery."""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from ...model.api_timeouts import MOST_AUXILIARY, MOST_CREATES
from .call_counters import LATE, CallCounters
from .kinds import call_kind
from .library import (
    HTTPAdapter,
    HTTPConnection,
    HTTPConnectionPool,
    HTTPSConnection,
    HTTPSConnectionPool,
    RequestException,
    requests,
    urllib3,
)
from .ratelimit import RateLimiter

LARGEST_BODY = 64 * 1024 * 1024
_PIECE = 65536
_REDIRECTS = (301, 302, 303, 305, 307, 308)
OnCall = Callable[[str, str, "int | None", float], None]
"""Called with the method, URL, status (None: no answer) and seconds of a call."""
_here = threading.local()


@dataclass(frozen=True)
class UploadTimes:
    """The time limits of one call that sends much data, in seconds; given as its ``timeout``.

    :param stall: how long the cloud may accept no data.
    :param total: limit for the whole call. The answer may take all that is left of it, because a proxy may pass on the
        data only after it has received everything.
    """

    stall: float
    total: float


@dataclass(frozen=True)
class AnswerTimes:
    """The time limit of one call whose answer may take long, given as its ``timeout``; the call uses a slow slot.

    :param total: seconds for the whole call; the cloud may send nothing during all of it.
    """

    total: float


@dataclass(frozen=True)
class AuxiliaryTimes(AnswerTimes):
    """The time limit of one auxiliary call, which has slots of its own and says nothing about the cloud's health."""


class _Call:
    """The deadline of one running call.

    A read time-out bounds the time between two pieces, not the whole answer: a service that sends a byte now and then
    would block its caller for ever. So before each operation, the time-out of the socket is reduced to what is left of
    the call's time.

    :param total: seconds for the whole call.
    :param sending: seconds that sending a piece may take.
    :param receiving: seconds without data while the answer is read.
    :ivar aborted: another thread has ended the call.
    """

    def __init__(self, total: float, sending: float, receiving: float, clock: Callable[[], float]) -> None:
        self.sending = sending
        self.receiving = receiving
        self._clock = clock
        self._deadline = clock() + total
        self._lock = threading.Lock()
        self._sock: socket.socket | None = None
        self.aborted = False

    @property
    def over(self) -> bool:
        """True when the call's time is over, or it was aborted."""
        return self.aborted or self._clock() >= self._deadline

    def bound(self, sock: socket.socket, longest: float) -> None:
        """Limit the next operation of *sock* to *longest* seconds and to the time that is left.

        :raises TimeoutError: no time is left.
        """
        with self._lock:
            self._sock = sock
        if self.over:
            raise TimeoutError("the whole call took too long")
        sock.settimeout(max(0.001, min(longest, self._deadline - self._clock())))

    def abort(self) -> None:
        """End the call from another thread."""
        with self._lock:
            self.aborted = True
            if self._sock is not None:
                with contextlib.suppress(OSError):
                    # SSLSocket.shutdown would drop the TLS state that the other thread is using.
                    socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def end(self) -> None:
        """Let go of the socket, which may serve another call from now on."""
        with self._lock:
            self._sock = None


class _BoundedReader(io.RawIOBase):
    """A raw stream that reads from a connection within the time of a call."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, call: _Call) -> None:
        self._raw = raw
        self._sock = sock
        self._call = call

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._call.bound(self._sock, self._call.receiving)
        count: int | None = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundedResponse(http.client.HTTPResponse):
    """An answer that is read, headers included, within the time of this thread's call."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        call: _Call | None = getattr(_here, "call", None)
        if call is not None:
            self.fp = io.BufferedReader(_BoundedReader(self.fp.detach(), sock, call))


class _BoundedSending:
    """A connection that sends within the time of this thread's call."""

    def send(self, data: Any) -> None:
        call: _Call | None = getattr(_here, "call", None)
        if call is not None:
            connection: Any = self
            if connection.sock is None:
                connection.connect()
            call.bound(connection.sock, call.sending)
        super().send(data)  # type: ignore[misc]


class _Connection(_BoundedSending, HTTPConnection):
    response_class = _BoundedResponse


class _TlsConnection(_BoundedSending, HTTPSConnection):
    response_class = _BoundedResponse


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class Transport(HTTPAdapter):
    """An adapter of requests that limits the rate and concurrency of calls, bounds their time, and counts them.

    :param limiter: delays each call before it is sent.
    :param connect_timeout: seconds for a TCP or TLS connection (per address of the host).
    :param read_timeout: longest time without data, in seconds.
    :param total_timeout: longest time of a call in seconds, without name resolution; also the longest wait for a free
        slot.
    :param concurrency: maximum number of calls at the same time.
    :param slow: maximum number of calls with AnswerTimes at the same time. They have their own slots, so that they do
        not block other calls.
    :ivar on_call: called after the end of each call that was sent, in the thread that made the call. It must not block;
        its exceptions are dropped.
    """

    def __init__(
        self,
        limiter: RateLimiter,
        counters: CallCounters,
        *,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        total_timeout: float = 60.0,
        concurrency: int = 16,
        slow: int = MOST_CREATES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limiter = limiter
        self._counters = counters
        self._timeouts = (min(connect_timeout, total_timeout), min(read_timeout, total_timeout))
        self._total = total_timeout
        self._slots = threading.BoundedSemaphore(concurrency)
        self._slow_slots = threading.BoundedSemaphore(slow)
        self._auxiliary_slots = threading.BoundedSemaphore(MOST_AUXILIARY)
        self._clock = clock
        self._uploads: set[_Call] = set()
        self.on_call: OnCall | None = None
        super().__init__(pool_connections=10, pool_maxsize=concurrency + slow + MOST_AUXILIARY, max_retries=0)

    def waited(self, ident: int) -> float:
        """Return the seconds that a thread has waited so far for the rate limit (RateLimiter.waited)."""
        return self._limiter.waited(ident)

    def abort_uploads(self) -> None:
        """End every running call with UploadTimes, as if its time were over."""
        for call in list(self._uploads):
            call.abort()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
        return manager

    def send(self, request: Any, *args: Any, **options: Any) -> Any:
        """Send one request and read its whole answer.

        :param options: verify, cert and proxies; ``timeout`` may be UploadTimes or AnswerTimes. The adapter sets all
            others itself.
        :raises requests.exceptions.RequestException: no answer; ReadTimeout also when the total time is over.
        """
        kind = call_kind(request.method, request.url)
        times = options.get("timeout")
        auxiliary = isinstance(times, AuxiliaryTimes)
        slots = self._slow_slots if isinstance(times, AnswerTimes) else self._slots
        slots = self._auxiliary_slots if auxiliary else slots
        if not slots.acquire(timeout=self._total):
            self._counters.started(kind, auxiliary=auxiliary)
            self._counters.ended(kind, "queue-timeout", self._total)
            raise requests.exceptions.ConnectTimeout(
                f"no free slot within {self._total:g} s: all calls that may run at the same time are waiting"
                f" for answers",
                request=request,
            )
        try:
            self._limiter.wait()
            self._counters.started(kind, auxiliary=auxiliary)
            began = self._clock()
            status = "error"
            code: int | None = None
            try:
                response = self._exchange(request, options, self._counters.patience(kind, self._timeouts[1]))
                code = response.status_code
                status = str(code)
                _check_redirect(request, response)
                return response
            except requests.exceptions.RequestException as problem:
                status = status_without_answer(problem)
                raise
            finally:
                seconds = self._clock() - began
                self._counters.ended(kind, status, seconds)
                if self.on_call is not None:
                    with contextlib.suppress(Exception):
                        self.on_call(request.method, request.url, code, seconds)
        finally:
            slots.release()

    def _exchange(self, request: Any, options: dict[str, Any], silence: float) -> Any:
        """Send the request and read the answer; the cloud may send nothing for *silence* seconds."""
        times = options.get("timeout")
        own = times if isinstance(times, UploadTimes) else None
        connecting, ordinary = self._timeouts
        total, waits = self._total + silence - ordinary, silence
        if isinstance(times, (UploadTimes, AnswerTimes)):
            total = waits = times.total
        timeouts = (connecting, waits)
        call = _Call(total, own.stall if own else ordinary, waits, self._clock)
        _here.call = call
        if own:
            self._uploads.add(call)
        try:
            response = super().send(request, **{**options, "stream": True, "timeout": timeouts})
            _read_body(response, request)
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError) as problem:
            if call.over:
                raise _late(request, total) from problem
            if own and _is_stall(problem):
                raise requests.exceptions.ReadTimeout(
                    f"the server accepted no data for {own.stall:g} s", request=request
                ) from problem
            if isinstance(problem, requests.exceptions.RequestException):
                raise
            raise requests.exceptions.ConnectionError(problem, request=request) from problem
        finally:
            self._uploads.discard(call)
            _here.call = None
            call.end()
        if call.aborted:
            raise _late(request, total)  # a connection that was shut down may look like the end of the answer
        return response


class Redirected(RequestException):
    """A redirect that is not followed: it would send the token or password to another host, or in clear text."""


def _check_redirect(request: Any, response: Any) -> None:
    """Check the target of a redirect, because keystoneauth sends the token in its headers to any target.

    :raises Redirected: it leads to another host, or from https to another scheme. Another path or port of the same host
        is allowed.
    """
    location = response.headers.get("Location")
    if response.status_code not in _REDIRECTS or not location:
        return
    there = urlsplit(urljoin(request.url, location))
    here = urlsplit(request.url)
    safe = there.scheme == "https" or (there.scheme, here.scheme) == ("http", "http")
    if there.hostname == here.hostname and safe:
        return
    why = "another host" if there.hostname != here.hostname else "a connection without TLS"
    raise Redirected(
        f"{here.scheme}://{here.netloc} answered {response.status_code} with a redirect to"
        f" {there.scheme}://{there.netloc}, which is {why}: the redirect is not followed, because that would"
        f" send the token there; set the right URL in the catalog or in clouds.yaml",
        request=request,
        response=response,
    )


def _late(request: Any, total: float) -> Exception:
    return requests.exceptions.ReadTimeout(f"no complete answer within {total:.3g} s", request=request)


def _is_stall(problem: BaseException) -> bool:
    """Return True for a piece that could not be sent in time; urllib3 reports it as a broken connection."""
    seen: BaseException | None = problem
    while seen is not None:
        if isinstance(seen, TimeoutError):
            return True
        inner = next((part for part in seen.args if isinstance(part, BaseException)), None)
        seen = inner or seen.__cause__ or seen.__context__
    return False


def _read_body(response: Any, request: Any) -> None:
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in response.iter_content(_PIECE):
            size += len(piece)
            if size > LARGEST_BODY:
                raise requests.exceptions.ConnectionError(
                    f"the answer is larger than {LARGEST_BODY} bytes", request=request
                )
            pieces.append(piece)
    except requests.exceptions.ConnectionError as problem:
        response.close()
        # iter_content reports a read time-out as a ConnectionError.
        if any(isinstance(part, urllib3.exceptions.ReadTimeoutError) for part in problem.args):
            raise requests.exceptions.ReadTimeout(*problem.args, request=request) from problem
        raise
    except requests.exceptions.ContentDecodingError as problem:
        response.close()
        raise requests.exceptions.ContentDecodingError(*problem.args, request=request, response=response) from problem
    except Exception:
        response.close()
        raise
    response._content = b"".join(pieces)
    response._content_consumed = True


def status_without_answer(problem: BaseException) -> str:
    """Return the status that counts a call without an answer; "no-connection" and "tls" mean that it was never sent."""
    known = requests.exceptions
    if isinstance(problem, Redirected):
        return "redirect"
    if isinstance(problem, (known.ConnectTimeout, known.ProxyError)):
        return "no-connection"
    if isinstance(problem, known.Timeout):
        return LATE
    if isinstance(problem, known.SSLError):
        return "tls"
    if isinstance(problem, known.ConnectionError):
        reason = getattr(problem.args[0], "reason", None) if problem.args else None
        if isinstance(reason, (urllib3.exceptions.NewConnectionError, urllib3.exceptions.NameResolutionError)):
            return "no-connection"
        return "reset"
    if isinstance(problem, known.ChunkedEncodingError):
        return "reset"
    if isinstance(problem, known.ContentDecodingError):
        return "damaged"
    return "error"
