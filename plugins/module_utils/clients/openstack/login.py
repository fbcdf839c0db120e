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
from typing import Any

from ...model.backoff import backoff
from .clouds import CloudEntry

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 60.0
"""Seconds for which a refused login is not tried again; doubled with each refusal, up to LONGEST_PAUSE. Without the
pause, an identity service that counts failed logins would lock the account."""
REFUSED = frozenset({401, 403})


class Login:
    """The auth plugin and token of a cloud entry. Thread-safe.

    In keystoneauth, every waiting thread tries again after the thread before it failed: when the identity service does
    not answer, the last of sixteen threads would wait for sixteen time-outs. Here the threads that waited for a failed
    attempt share its failure. A refused login is not repeated before a pause is over; changed login options in
    clouds.yaml make another login.
    """

    def __init__(self, plugin: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._plugin = plugin
        self._clock = clock
        self._lock = threading.Lock()
        self._failed_at = float("-inf")
        self._failure: Exception | None = None
        self._refusals = 0

    def access(self, session: Any) -> Any:
        """Return keystoneauth's AccessInfo with a valid token; fetch one over *session* when there is none.

        :raises keystoneauth1.exceptions.ClientException: the identity service refused or did not answer.
        """
        asked = self._clock()
        with self._lock:
            if self._failure is not None and asked <= self._failed_at + self._pause:
                raise self._failure
            try:
                access = self._plugin.get_access(session)
            except Exception as problem:
                self._failed_at, self._failure = self._clock(), problem
                self._refusals = self._refusals + 1 if getattr(problem, "http_status", None) in REFUSED else 0
                raise
            self._failure, self._refusals = None, 0
            return access

    def renew(self, access: Any, seconds: float) -> None:
        """Make the next access fetch a new token when the token of *access* expires within *seconds*."""
        if access.will_expire_soon(stale_duration=seconds):
            self.reject(access.auth_token)

    @property
    def _pause(self) -> float:
        return backoff(self._refusals, first=FIRST_PAUSE, most=LONGEST_PAUSE)

    def reject(self, token: str) -> None:
        """Make the next access fetch a new token, because *token* was answered with 401.

        Does nothing when another thread has already fetched one.
        """
        with self._lock:
            current = getattr(self._plugin, "auth_ref", None)
            if current is None or current.auth_token == token:
                self._plugin.invalidate()


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
