# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logins: one token per process and login, shared by all clients that use the login."""

from __future__ import annotations

import hashlib
import json
import threading
import time
import weakref
from collections.abc import Callable
from datetime import UTC
from typing import Any

from ...model.backoff import backoff
from ...model.lines import span
from .clouds import CloudEntry
from .json_values import UNUSABLE
from .remarks import Remarks

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 60.0
"""Seconds for which a refused login, or one that was answered with nonsense, is not tried again; doubled with each one,
up to LONGEST_PAUSE. Without the pause, an identity service that counts failed logins would lock the account."""
REFUSED = frozenset({400, 401, 403, 404})
FIRST_RENEWAL = 1.0
"""Seconds without a login after a service refused a token that was new; doubled each time, up to LONGEST_PAUSE."""
MARGIN = 120.0
"""Seconds before its end at which a token is replaced, or a tenth of its life if that is less."""
SHORT_LIFE = 300.0
"""A token that lives for fewer seconds than this gets a remark."""
CLOCK_OFFSET = 60.0
"""Seconds of difference between the identity service's clock and ours from which on there is a remark."""
_LIFE = "tokens"
_CLOCK = "clock"


class Login:
    """The auth plugin and token of a cloud entry. Thread-safe.

    In keystoneauth, every waiting thread tries again after the thread before it failed: when the identity service does
    not answer, the last of sixteen threads would wait for sixteen time-outs. Here the threads that waited for a failed
    attempt share its failure. A refused login is not repeated before a pause is over; changed login options in
    clouds.yaml make another login.

    keystoneauth replaces a token 120 s before its end by our clock: tokens that live for less, or a clock of the
    identity service that is behind ours, would cost a login for each call. Here a token is used for nine tenths of its
    life at least, and its life is the difference of two times of the identity service's clock.

    :param clock: monotonic seconds.
    :param wall: UNIX time.
    :ivar remarks: says that tokens live for a short time only, or that a clock is wrong.
    """

    def __init__(
        self,
        plugin: Any,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._plugin = plugin
        self._clock = clock
        self._wall = wall
        self._lock = threading.Lock()
        self._failed_at = float("-inf")
        self._failure: Exception | None = None
        self._refusals = 0
        self._access: Any = None
        self._fetched_at = float("-inf")
        self._life: float | None = None
        self._renewals = 0
        self.remarks = Remarks()

    def access(self, session: Any) -> Any:
        """Return keystoneauth's AccessInfo with a token; fetch one over *session* when there is none.

        :raises keystoneauth1.exceptions.ClientException: the identity service refused or did not answer.
        """
        asked = self._clock()
        with self._lock:
            if self._access is not None and not self._ends_within(0.0):
                return self._access
            if self._failure is not None and asked <= self._failed_at + self._pause:
                raise self._failure
            try:
                self._plugin.invalidate()
                access = self._plugin.get_access(session)
            except Exception as problem:
                self._failed_at, self._failure = self._clock(), problem
                self._refusals = self._refusals + 1 if _is_lasting(problem) else 0
                raise
            self._failure, self._refusals = None, 0
            self._take(access)
            return access

    def renew(self, seconds: float) -> None:
        """Make the next access fetch a new token when the present one ends within *seconds*."""
        with self._lock:
            if self._access is not None and self._ends_within(seconds):
                self._access = None

    def reject(self, token: str) -> None:
        """Make the next access fetch a new token: *token* was answered with 401, or its catalog lacks a service.

        Does nothing when another thread has already fetched one. If services refuse tokens that are new, there is a
        pause between two logins.
        """
        with self._lock:
            if self._access is None or self._access.auth_token != token:
                return
            age = self._clock() - self._fetched_at
            if age > 2 * LONGEST_PAUSE:
                self._renewals = 0
            if age >= backoff(self._renewals, first=FIRST_RENEWAL, most=LONGEST_PAUSE):
                self._renewals += 1
                self._access = None

    def _take(self, access: Any) -> None:
        self._access, self._fetched_at = access, self._clock()
        issued, ends = _moment(access, "issued"), _moment(access, "expires")
        self._life = ends - issued if issued is not None and ends is not None and ends > issued else None
        short = offset = ""
        if self._life is not None and self._life < SHORT_LIFE:
            short = (
                f"the tokens of the identity service live for {self._life:.0f} s, so this process logs in every"
                f" {self._life - self._margin:.0f} s: ask the operators of the cloud for a longer [token]"
                f" expiration in keystone"
            )
        if issued is not None and abs(issued - self._wall()) > CLOCK_OFFSET:
            seconds = issued - self._wall()
            offset = (
                f"the clock of the identity service is {span(abs(seconds))} {'ahead of' if seconds > 0 else 'behind'}"
                " the clock of this machine: synchronize both by NTP"
            )
        self.remarks.put(_LIFE, short)
        self.remarks.put(_CLOCK, offset)

    @property
    def _margin(self) -> float:
        return MARGIN if self._life is None else min(MARGIN, self._life / 10)

    def _ends_within(self, seconds: float) -> bool:
        """Return True if the token ends within *seconds* and a margin; one of unknown life is used until a 401."""
        if self._life is None:
            return False
        return self._clock() - self._fetched_at + max(seconds, self._margin) >= self._life

    @property
    def _pause(self) -> float:
        return backoff(self._refusals, first=FIRST_PAUSE, most=LONGEST_PAUSE)


def refused_with(problem: BaseException) -> int | None:
    """Return the status with which a login was answered, None if it was not.

    A user who needs a second factor gets 401, for which keystoneauth raises no HttpError.
    """
    status = getattr(problem, "http_status", None) or getattr(getattr(problem, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _is_lasting(problem: BaseException) -> bool:
    """Return True for a failure that will most likely stay the same: a refusal, or an answer without sense."""
    seen: BaseException | None = problem
    while seen is not None:
        if refused_with(seen) in REFUSED or isinstance(seen, ValueError):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _moment(access: Any, name: str) -> float | None:
    """Return a time of the token as UNIX time, None when it has none that can be read."""
    try:
        when = getattr(access, name, None)
        if when is None:
            return None
        return float((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())
    except UNUSABLE:
        return None


_logins: weakref.WeakValueDictionary[str, Login] = weakref.WeakValueDictionary()
_logins_lock = threading.Lock()


def shared_login(entry: CloudEntry) -> Login:
    """Return the login for *entry*; the same object for entries with the same credentials, whatever their region."""
    config = entry.region.config
    parts = [config.get(name) for name in ("auth_type", "auth", "verify", "cacert", "cert", "key", "insecure")]
    text = json.dumps(parts, sort_keys=True, default=str)
    key = hashlib.sha256(text.encode()).hexdigest()
    with _logins_lock:
        login = _logins.get(key)
        if login is None:
            login = _logins[key] = Login(entry.region.get_auth())
        return login
