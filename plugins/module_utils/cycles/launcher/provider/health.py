# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The health of a provider's API: which services are in trouble since when, and until when it asked for a pause."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ....clients.openstack.call_counters import CallCounters
from ....clients.openstack.kinds import KEYSTONE, NOVA, service_of
from ....launching.moving import PATIENT, SLOWER, WELL, Standing
from ....model import owner, reasons
from ....model.api_timeouts import LONGEST_ABSENCE, ApiTimeouts
from ....model.backoff import backoff
from ....model.errors import (
    CloudAuthError,
    CloudError,
    CloudTokenRefused,
    CloudUnavailable,
)
from ....model.reasons import Reason
from ....model.stored import is_number
from .lacks import LIMITS, Lack
from .service_health import ServiceHealth

CREATE = "POST /servers"
FIRST_PAUSE = 2.0
"""Seconds without a create after one that failed because of the API; doubled each time, up to one time-out."""
PROBE_AFTER = 15.0
"""Seconds after which an API that asked for a pause is tried nevertheless, with a single cheap call."""
LISTENED = "GET /os-keypairs"
"""The cheap call that shows whether a provider is dead."""
CREATES_TOLD = 600.0
"""Seconds for which it is told that creates failed, when none was made since."""
CORE = (KEYSTONE, NOVA)
"""The services without which nothing can be done at a provider."""

Needed = Callable[[], Collection[str]]
Lacks = Callable[[], Sequence[Lack]]


def _nothing() -> tuple[()]:
    return ()


class Health:
    """The health of one provider's API. The cycle's thread reports every answer and checks the health in every pass.

    An answer to any call of a service shows that the service works. Only a create shows that creates work: after a
    failed create there is a pause, which grows until one succeeds.

    :param needed: returns the services besides nova and keystone that all launches here need. It is called only while
        one of them is in trouble.
    :param lacks: returns the facts that the provider needs and does not get.
    """

    def __init__(
        self,
        provider: str,
        counters: CallCounters,
        timeouts: ApiTimeouts | None = None,
        needed: Needed = _nothing,
        lacks: Lacks = _nothing,
    ) -> None:
        self._provider = provider
        self._counters = counters
        self._timeouts = timeouts or ApiTimeouts()
        self._needed = needed
        self._lacks = lacks
        self._services: dict[str, ServiceHealth] = {}
        self._silent: dict[str, tuple[str, float]] = {}
        """Service → kind and seconds of the call that waits too long for its answer."""
        self._core_told = False
        """True if nova or keystone was told to be in trouble at the last look."""
        self._creates: CloudError | None = None
        self._creates_failures = 0
        self._creates_until = 0.0
        self._creates_since = 0.0
        self._creates_told_until = 0.0
        self._heard_at = float("-inf")
        self._held: dict[str, tuple[float, float]] = {}
        """Service → UNIX time until which it asked for a pause, and the seconds that it asked for."""
        self._probe_at = 0.0
        self._asked_at = math.inf
        """UNIX time of the cheap call that has no answer yet; infinite if there is none."""
        self._told_at = float("-inf")
        """UNIX time of the latest answer to such a call."""
        self._measured: float | None = None
        """Since when the trouble began in which a call that measures how slow the provider is was made."""
        self._there_at = float("-inf")
        """UNIX time of the latest cheap call that was answered well."""
        self.since: float | None = None
        """UNIX time since which the API is in trouble; None if it is not."""
        self._noticed = float("-inf")
        """UNIX time at which that was noticed: at a slow cloud, its calls had waited for long by then."""
        self._well_since = float("-inf")
        """UNIX time at which its last trouble ended."""

    # -- what is heard -------------------------------------------------------------------------------------------

    def heard(self, error: CloudError | None, now: float, call: str = "") -> None:
        """Note an answer to a *call*, or that there was none. A refusal is an answer."""
        if error is not None and error.foreign and not error.call.startswith("GET "):
            return  # what stands before a service says nothing about it; who forbids a reading is told by the facts
        kind = (error.call if error is not None else "") or call
        service = self._service(service_of(kind))
        if call != CREATE and (error is None or error.status is not None):
            self._heard_at = now
        # What a cloud does not implement says nothing about the rest of the service.
        lacks_it = error is not None and error.status == 501 and call != CREATE
        if error is not None and not lacks_it and isinstance(error, CloudUnavailable | CloudAuthError):
            service.failed(error, kind, now)
            if error.retry_after is not None:
                self._hold(service.name, error.retry_after, now)
        elif error is None or error.status is not None:
            service.answered(kind, now)
            if service.name != KEYSTONE and KEYSTONE in self._services:
                self._services[KEYSTONE].works(now)  # as the service has accepted the token
        if call == CREATE:
            self._heard_of_create(error if isinstance(error, CloudUnavailable | CloudAuthError) else None, now)

    def _service(self, name: str) -> ServiceHealth:
        if name not in self._services:
            self._services[name] = ServiceHealth(name)
        return self._services[name]

    def _hold(self, service: str, seconds: float, now: float) -> None:
        until = max(self._held.get(service, (0.0, 0.0))[0], now + min(LONGEST_ABSENCE, seconds))
        self._held[service] = until, seconds
        if service in CORE:
            self._probe_at = now + PROBE_AFTER

    def _heard_of_create(self, error: CloudError | None, now: float) -> None:
        if error is None:
            self._creates, self._creates_failures, self._creates_until = None, 0, 0.0
        elif now >= self._creates_until:
            # Creates that were under way at the same time count once.
            self._creates_since = self._creates_since if self._creates is not None else now
            self._creates = error
            self._creates_failures += 1
            self._creates_told_until = now + CREATES_TOLD
            self._creates_until = now + backoff(self._creates_failures, first=FIRST_PAUSE, most=self._timeouts.silence)

    def made_without_answer(self, now: float) -> None:
        """Note that a create without a good answer has made its server: only the pause after it goes on."""
        self._creates_told_until = now

    # -- pauses --------------------------------------------------------------------------------------------------

    @property
    def wait_until(self) -> float:
        """UNIX time until which no call is made to some service because it asked for a pause."""
        return max((until for until, _seconds in self._held.values()), default=0.0)

    def held_until(self, kind: str) -> float:
        """Return the UNIX time until which no call of this kind is made because its service asked for a pause."""
        if not self._held:
            return 0.0
        return max(self._held.get(name, (0.0, 0.0))[0] for name in (*CORE, service_of(kind)))

    @property
    def _core_held(self) -> tuple[float, float]:
        return max(self._held.get(name, (0.0, 0.0)) for name in CORE)

    def probe_due(self, now: float) -> bool:
        """Return True, once per interval, if an API that asked for a pause must be tried with one cheap call."""
        if not self._probe_at <= now < self._core_held[0]:
            return False
        self._probe_at = now + PROBE_AFTER
        return True

    def probed(self, error: CloudError | None, now: float) -> None:
        """Note the answer to that call: a success ends the pause for all calls."""
        self.heard(error, now)
        if error is None:
            self._held.clear()

    # -- what follows --------------------------------------------------------------------------------------------

    def follow(self, now: float) -> None:
        """Check whether calls wait too long for their answers; called once per pass.

        A create may take minutes while all other calls are answered: then it is only slow.
        """
        silent: dict[str, tuple[str, float]] = {}
        for kind, seconds in self._waiting(now).items():
            if seconds > silent.get(service_of(kind), ("", 0.0))[1]:
                silent[service_of(kind)] = kind, seconds
        self._silent = silent
        for name, (kind, seconds) in silent.items():
            self._service(name).suspect(_silence(kind, seconds), kind, now, now - seconds)
        for service in self._services.values():
            if service.name not in silent:
                service.settle(now)
        if self.blocked(now) is None:
            if self.since is not None:
                self._well_since = now
            self.since = None
        elif self.since is None:
            self.since = now - max((silent[name][1] for name in CORE if name in silent), default=0.0)
            self._noticed = now

    def _waiting(self, now: float) -> dict[str, float]:
        """Return the kinds of calls that wait unusually long, with the seconds."""
        suspect = self._timeouts.suspect
        # A call that waits no longer than calls of its kind usually do shows nothing.
        found = self._counters.all_overdue(suspect, PATIENT)
        found.pop(CREATE, None)
        bound = max(suspect, PATIENT * self._counters.usual(but=CREATE))
        if not found and now - self._heard_at >= bound:
            # Time in which nothing was asked is no silence, so the call itself must have waited as long.
            kind, seconds = self._counters.longest_wait()
            return {kind: seconds} if seconds >= bound else {}
        return found

    def blocked(self, now: float) -> Reason | None:
        """Return why no work may be given to the provider now; None if it may."""
        if self._is_well:
            return None
        for name in CORE:
            if name in self._silent:
                return self._trouble(_silence(*self._silent[name]), name)
        return self.refused(now) or self._without_needed()

    @property
    def _is_well(self) -> bool:
        """True while nothing is known that could stop any launch, as nearly always."""
        if self._silent or self._held or self._creates is not None:
            return False
        return not any(item.error is not None for item in self._services.values()) and not self._lacks()

    def refused(self, now: float) -> Reason | None:
        """Return the same, but only for reasons that follow from answers, not from missing answers."""
        error = next((item.error for name in CORE if (item := self._services.get(name)) and item.error), None)
        until, asked = self._core_held
        if now < until:
            said = f"{error}; " if error is not None else ""
            text = f"{said}it asked for a pause of {asked:.0f} s, which ends in {until - now:.0f} s"
            return self._trouble(text)
        if error is not None:
            # What the operator can do about a fact that is not had is part of its sentence.
            lack = next((item for item in self._lacks() if item.stops and str(item.error) == str(error)), None)
            return self._trouble(str(error), whose=_owner_of(error)) if lack is None else self.reason_of(lack)
        if now < self._creates_until and self._creates is not None:
            text = f"{self._creates}; next create in {self._creates_until - now:.0f} s"
            return self._trouble(text, whose=_owner_of(self._creates))
        return next((self.reason_of(lack) for lack in self._lacks() if lack.stops), None)

    @property
    def core_away_since(self) -> float | None:
        """UNIX time since which nova or keystone does not answer, or answers with errors; None if it works."""
        away = [self._services[name] for name in CORE if self.away(name) is not None]
        return min((item.heard_at if item.since is None else item.since for item in away), default=None)

    @property
    def login_refused(self) -> CloudError | None:
        """The error of the latest login if keystone refused the account; None if it did not."""
        service = self._services.get(KEYSTONE)
        error = service.error if service is not None else None
        return error if isinstance(error, CloudAuthError) else None

    def away(self, name: str) -> Reason | None:
        """Return why the service *name* cannot be used now; None if it can."""
        if name in self._silent:
            return self._trouble(_silence(*self._silent[name]), name)
        service = self._services.get(name)
        if service is None or service.error is None:
            return None
        return self._trouble(self._named(name, str(service.error)), name, _owner_of(service.error))

    def is_failing(self, kind: str) -> bool:
        """Return True if the service of this kind of call is in trouble, or the latest call of this kind failed."""
        service = self._services.get(service_of(kind))
        return service is not None and (service.error is not None or service.is_failing(kind))

    @property
    def some_away(self) -> bool:
        """True if some service besides nova and keystone cannot be used now."""
        named = {*self._silent, *(item.name for item in self._services.values() if item.error is not None)}
        return not named <= set(CORE)

    def overdue(self, now: float, seconds: float) -> list[str]:
        """Return the services in trouble of which nothing was heard for so many *seconds*: they must be tried."""
        return [
            item.name
            for item in self._services.values()
            if item.error is not None and item.name not in self._silent and now - item.heard_at >= seconds
        ]

    def _without_needed(self) -> Reason | None:
        away = [name for name in {*self._services, *self._silent} if name not in CORE and self.away(name) is not None]
        if not away:
            return None
        needed = self._needed()
        return next((self.away(name) for name in sorted(away) if name in needed), None)

    def troubled_for(self, now: float) -> float:
        """Return the seconds since the trouble began; 0 if there is none."""
        return 0.0 if self.since is None else now - self.since

    def standing(self, now: float) -> Standing:
        """Return what decides whether requests leave this provider."""
        counters = self._counters
        troubled = self.troubled_for(now)
        slowest = max(counters.usual(but=CREATE), counters.lately(but=CREATE))
        # Before the trouble, perhaps nothing was asked.
        quiet = min(troubled, counters.quiet_for(but=LISTENED))
        unheard = not self._may_listen(now) or now - self._asked_at >= self._timeouts.listen
        return Standing(troubled, self._answers_with_errors(troubled, slowest), quiet, slowest, unheard)

    def _answers_with_errors(self, troubled: float, slowest: float) -> bool:
        """Return True if the trouble is what the API answers, not that it does not answer.

        Creates without an answer, while all other calls have one, are such a trouble when they are overdue by what the
        other calls take.
        """
        names = (*CORE, *self._needed()) if self.some_away else CORE
        if any(name in self._silent for name in names):
            return False
        errors = [item.error for name in names if (item := self._services.get(name)) and item.error]
        if not errors and self._creates is not None:
            return self._creates.status is not None or troubled >= SLOWER * slowest
        # Without an error of a service, what it needs and does not get is in trouble.
        errors = errors or [lack.error for lack in self._lacks() if lack.stops]
        return bool(errors) and all(error.status is not None for error in errors)

    # -- dead or slow --------------------------------------------------------------------------------------------

    def listen_due(self, now: float) -> float:
        """Return the seconds until a cheap call must be made, or has waited so long that the provider is dead.

        It shows whether the provider is dead or only slower than it was. After a while only calls that the launcher
        needs count.
        """
        if self._asked_at < math.inf:
            waited = self._timeouts.listen - (now - self._asked_at)
            return waited if waited > 0 else math.inf
        if self.since is None or not self._may_listen(now) or self.standing(now).answered:
            return math.inf
        return max(0.0, self._told_at + self._timeouts.listen - now)

    def listens(self, now: float) -> bool:
        """Return True, and note it, if that call must be made now."""
        if self._asked_at < math.inf or self.listen_due(now) > 0:
            return False
        self._asked_at = now
        return True

    def told(self, error: CloudError | None, now: float) -> None:
        """Note the answer to that call, or that there was none. An answer does not end the trouble."""
        self._asked_at, self._told_at = math.inf, now
        self._there_at = now if error is None else self._there_at
        if isinstance(error, CloudUnavailable | CloudAuthError):
            self.heard(error, now, LISTENED)

    def measures(self, now: float) -> float:
        """Return for how many seconds the answer to one list must be waited for now, and note it; 0 if none is due.

        Once in each trouble, when a cheap call was answered. All other calls are given up sooner at a cloud that was
        quick, so a cloud that has become slow would give no answer at all, like one in which they hang.
        """
        due = self.since is not None and self._measured != self.since and self._there_at >= self.since
        if not due or not self._may_listen(now) or self.standing(now).answered:
            return 0.0
        self._measured = self.since
        return self._noticed + self._timeouts.listen_for - now

    def _may_listen(self, now: float) -> bool:
        listening = self.since is None or now - self._noticed < self._timeouts.listen_for
        return listening and now >= self._core_held[0]

    def is_long_well(self, now: float) -> bool:
        """Return True if requests may move here: it answers, and was not in trouble a moment ago."""
        answers = math.isfinite(self._counters.quiet_for())
        return answers and self.blocked(now) is None and not 0 <= now - self._well_since < WELL

    def trouble_ended(self, now: float) -> float | None:
        """Return when the last trouble ended, for the next cycle: now if there still is one, None if there was none."""
        ended = self._well_since if self.since is None else now
        return None if ended == float("-inf") else round(ended, 1)

    def learn(self, trouble_ended: Any, now: float) -> None:
        """Take over when the last trouble of an earlier cycle ended; ignore what is no time, or is in the future."""
        if is_number(trouble_ended) and trouble_ended <= now:
            self._well_since = max(self._well_since, float(trouble_ended))

    # -- what is told --------------------------------------------------------------------------------------------

    def troubles(self, now: float) -> dict[str, tuple[str, float]]:
        """Return what is in trouble → (why, since when): services, creates, and facts that are not had.

        A service is in it until the calls that failed work again. One that keeps failing stays in it.
        """
        told: dict[str, tuple[str, float]] = {}
        for service in self._services.values():
            service.settle(now)
        for name in CORE:
            service = self._services.get(name, ServiceHealth(name))
            if service.since is not None:
                told[name] = service.text, service.since
        reason = self.refused(now)
        if reason is not None and NOVA in told and now < self._core_held[0]:
            told[NOVA] = str(reason.figures["text"]), told[NOVA][1]
        elif self._core_held[0] > now and not told and reason is not None:
            told[NOVA] = str(reason.figures["text"]), now if self.since is None else self.since
        if self._creates is not None and NOVA not in told and now < self._creates_told_until:
            told[NOVA] = str(self._creates), self._creates_since
        if told.keys() & set(CORE):
            self._core_told = True
        else:
            self._tell_others(told, now)
        for lack in self._lacks():
            if (lack.lasting or lack.kind == LIMITS) and str(lack.error) not in [
                text for text, _since in told.values()
            ]:
                told[lack.kind] = lack.text(self._provider), lack.since
        return told

    def _tell_others(self, told: dict[str, tuple[str, float]], now: float) -> None:
        """Add the other services. What they answered while nova or keystone was in trouble tells nothing of them."""
        others = sorted(name for name in self._services if name not in CORE)
        if self._core_told:
            self._core_told = False
            for name in others:
                self._services[name].works(now)
        for name in others:
            service = self._services[name]
            if service.since is not None:
                told[name] = service.text, service.since

    def document(self, now: float) -> dict[str, Any]:
        """Return the health for the result: ``state`` is ok or trouble, ``services`` has what is in trouble."""
        told = self.troubles(now)
        if not told:
            return {"state": "ok"}
        return {
            "state": "trouble",
            "text": "; ".join(dict.fromkeys(self._named(part, text) for part, (text, _since) in told.items())),
            "seconds": round(now - min(since for _text, since in told.values()), 1),
            "owner": owner.foremost(self._owners()),
            "services": {
                name: {"text": text, "seconds": round(now - since, 1)} for name, (text, since) in told.items()
            },
        }

    def record(self, now: float) -> dict[str, Any]:
        """Return the health as it is stored: with ``since`` (UNIX time) instead of ``seconds``."""

        def stored(part: dict[str, Any]) -> dict[str, Any]:
            seconds = part.pop("seconds", None)
            return part if seconds is None else {**part, "since": round(now - seconds)}

        document = self.document(now)
        parts = {name: stored(dict(part)) for name, part in document.pop("services", {}).items()}
        return {**stored(document), **({"services": parts} if parts else {})}

    def reason_of(self, lack: Lack) -> Reason:
        """Return the reason for a fact that is not had."""
        return self._trouble(lack.text(self._provider), service_of(lack.kind), lack.owner)

    def _owners(self) -> list[str]:
        errors = [service.error for service in self._services.values() if service.error is not None]
        errors += [self._creates] if self._creates is not None else []
        return [*map(_owner_of, errors), *(lack.owner for lack in self._lacks())] or [owner.CLOUD]

    def _named(self, part: str, text: str) -> str:
        """Return the text with the name of a service that is no core one: its calls do not tell which one it is."""
        return text if part in CORE or " " in part else trouble_line(self._provider, part, text)

    def _trouble(self, text: str, service: str = NOVA, whose: str = owner.CLOUD) -> Reason:
        figures = {"where": self._provider, "text": text, "service": service, "owner": whose}
        return Reason(reasons.PROVIDER_TROUBLE, figures)


def trouble_line(provider: str, part: str, text: str) -> str:
    """Return the line about a trouble of a service or a fact of a provider."""
    said = text.removeprefix(f"provider {provider}: ")
    which = f"{part} is in trouble: " if part not in CORE and " " not in part else ""
    return f"provider {provider}: {which}{said}"


def _silence(kind: str, seconds: float) -> str:
    return f"no answer to {kind} for {seconds:.0f} s"


def _owner_of(error: CloudError) -> str:
    if isinstance(error, CloudAuthError) and not isinstance(error, CloudTokenRefused):
        return owner.ACCOUNT
    return owner.CLOUD
