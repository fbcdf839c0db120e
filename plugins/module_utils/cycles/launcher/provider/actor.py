# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One provider as the cycle uses it: its client, its threads, the known facts and its health."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....clients.openstack.cloud_client import CloudClient
from ....clients.openstack.remarks import is_about_rows
from ....launching.polling import RAREST
from ....launching.resolver import names_networks
from ....launching.server_identity import SharedKeys
from ....model.api_timeouts import ApiTimeouts
from ....model.cloud import Server
from ....model.config.types import Provider
from ....model.errors import (
    CloudAuthError,
    CloudError,
    CloudUnavailable,
)
from ....model.lines import Line, amount
from ....model.reasons import Reason
from ....model.resources import Resources
from ...frame.inbox import Inbox
from ...frame.workers import Done, WorkerSet
from .auxiliary_lane import AuxiliaryLane
from .capacity_reading import CapacityReading
from .create_lane import CreateLane
from .experience import Experience
from .facts import Fact
from .given_back import Expected, GivenBack
from .health import CREATE, Health
from .inquiries import Answered
from .knowledge import Knowledge
from .lacks import FEW, LIMITS
from .needs import Needs, lacks_of
from .probes import Probes
from .server_view import ServerView
from .usage import Capacity, Usage
from .watched import Watched

Judge = Callable[[CloudError], CloudError]

LIMITS_AGE = 60.0
"""Largest age in seconds of the limits and the others' usage while nodes are wanted."""
LIMITS_AGE_WHEN_FULL = 15.0
PROBE_AGE = 2.0
"""Seconds between two readings of the limits of a provider in trouble, which show whether it works again. Failures make
the interval longer."""
JOB_CALLS, MOST_JOB = 8.0, 4.0
"""A job of several calls may take this many times the usual time of the slowest one, and at most this many times as
long as a job at a quick cloud."""
QUOTA = "GET /quotas/{id}/details"
VOLUME_LIMITS = "GET /volume/limits"
RETRY_WITHIN = 10.0
"""Seconds. A preview does not wait for an API that asks for a longer pause."""


class ProviderActor:
    """The provider that this cycle acts for. Only the cycle's own thread uses it.

    :param site: the id of the tree.
    """

    def __init__(
        self,
        provider: Provider,
        client: CloudClient,
        inbox: Inbox,
        timeouts: ApiTimeouts | None = None,
        site: str = "",
    ) -> None:
        self.provider = provider
        self.site = site
        self.client = client
        self.inbox = inbox
        self.experience = Experience()
        self.shared_keys = SharedKeys()
        self._began = inbox.clock()
        self.timeouts = timeouts or ApiTimeouts()
        # The client may have been replaced by the time of the call.
        # pylint: disable=unnecessary-lambda
        self.creates = CreateLane(provider.name, inbox, self.timeouts, lambda: self.client, self.heard)
        self.workers = WorkerSet(provider.name, inbox, seconds=self.timeouts.job, waited=self.creates.waited)
        self.auxiliary = AuxiliaryLane(provider.name, inbox, self.timeouts, self.creates.waited)
        self.health = self._new_health()
        self.probes = Probes(inbox, self.workers, lambda: self.client, lambda: self.health, lambda: self.provider)
        self.known = Knowledge(
            provider.name, lambda: self.client, inbox.clock, self._fact, lambda: names_networks(self.provider)
        )
        self.usage = Usage(provider.name, site, lambda: self.known.flavors.value)
        self.limits = CapacityReading(
            lambda: self.client.limits(volumes=self._uses_volumes(), network=True),
            lambda: self.view.list.read_whole(),
            inbox.clock,
        )
        self.capacity: Fact[Capacity] = self._fact(LIMITS, self.limits.read, LIMITS_AGE, self._new_capacity)
        self.given_back = GivenBack(
            lambda read, changed: self._fact(LIMITS, read, 0.0, changed),
            lambda: self.client.limits(),
            inbox.clock,
            lambda: self.creates.sent_at,
        )
        self.view = ServerView(
            provider.name,
            site,
            lambda: self.client,
            inbox.clock,
            self._fact,
            self._ask_for_server,
            lambda: self.health.wait_until,
        )
        self.needs = Needs(
            lambda: self.provider, self.known, self.view.listing, self.capacity, self.limits, self.view.odd
        )

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, what: str, work: Callable[[], Any], done: Done, judge: Judge = lambda error: error) -> None:
        """Make a call that changes something, in the provider's threads.

        :param judge: returns the error that counts instead of the call's error.
        """

        def answered(result: Any, error: CloudError | None) -> None:
            error = None if error is None else judge(error)
            self.heard(error, what)
            done(result, error)

        self.workers.submit(what, work, answered, changes=True)

    def heard(self, error: CloudError | None, call: str = "") -> None:
        """Report the answer to a call to the health of the API."""
        self.health.heard(error, self.inbox.clock(), call)

    def renew(self, provider: Provider, client: CloudClient | None = None) -> None:
        """Use new settings; with a new *client*, also read all facts again."""
        self.provider = provider
        if client is not None:
            self.client = client
            self.creates.renew()
            now, before = self.inbox.clock(), self.health
            self.health = self._new_health()
            self.health.learn(before.trouble_ended(now), now)
            self.limits.renew()
            self.view.renew()
            for fact in (*self._facts, *self.known.names):
                fact.renew()
            self.known.dead_ends.forget()

    def check(self, now: float) -> None:
        """Answer the jobs that have overrun their time; jobs at a slow cloud get more of it. Called once per pass."""
        self.needs.look_again()
        usual = self.client.counters.usual(but=CREATE)
        self.workers.seconds = min(MOST_JOB * self.timeouts.job, max(self.timeouts.job, JOB_CALLS * usual))
        for workers in (self.workers, self.creates.workers, self.auxiliary.workers):
            workers.check(now)

    def describe(self) -> list[Line]:
        """Return lines about its health and its threads. Any thread may call it."""
        name, now, creates = self.provider.name, self.inbox.clock(), self.creates
        flight = f"{creates.unanswered} without an answer, {amount(creates.in_flight, 'server')} in flight"
        health = self.health.blocked(now)
        texts = (
            f"provider {name}: health: {'ok' if health is None else health.text()}",
            f"provider {name}: calls: {self.workers.text(now)}",
            f"provider {name}: creates: {flight}; {creates.workers.text(now)}",
        )
        return [Line(text, provider=name) for text in texts]

    def dismiss(self) -> None:
        """End the threads."""
        for workers in (self.workers, self.creates.workers, self.auxiliary.workers):
            workers.close()

    def close(self) -> None:
        """End the threads and close the connections."""
        self.dismiss()
        self.client.close()

    def accepted(self, size: Resources, sent_at: float, now: float) -> None:
        """Note that the cloud accepted a create, sent at *sent_at*, for a server of *size*."""
        self.usage.accepted(size)
        self.given_back.uncounted.accepted(size, sent_at, now)

    # -- from cycle to cycle -------------------------------------------------------------------------------------

    def learned(self) -> dict[str, Any]:
        """Return what the next cycle needs to know about the provider."""
        now = self.inbox.clock()
        self.experience.reading = self._reading()
        self.experience.calls.count(*self.client.counters.ended_calls(), now)
        return {
            **self.experience.document(),
            "list_seconds": self.view.list.document(),
            **self.creates.document(),
            "zones": self.known.denials.document(),
            "trouble_ended": self.health.trouble_ended(now),
            "call_seconds": self.client.counters.usual_document(),
            "shared_keys": self.shared_keys.document(),
            "health": self.health.record(now),
        }

    def learn(self, document: Mapping[str, Any]) -> None:
        """Take over what earlier cycles learned."""
        self.experience.learn(document)
        self.view.list.learn(document.get("list_seconds"))
        self.creates.learn(document)
        self.known.learn_zones(document.get("zones"))
        self.health.learn(document.get("trouble_ended"), self.inbox.clock())
        self.client.counters.learn_usual(document.get("call_seconds"))
        self.shared_keys.learn(document.get("shared_keys"))

    def _reading(self) -> Any:
        """Return limits and others' usage at the last reading, of this cycle or an earlier one, for the operator."""
        bounds, at = self.usage.bounds, self.usage.read_at
        if bounds is not None and at is not None:
            others = dict(self.usage.others.items())
            return {"at": at, "limits": dict(bounds.items()), "others": others}
        return self.experience.reading

    # -- what is known -------------------------------------------------------------------------------------------

    @property
    def blocked(self) -> Reason | None:
        """Why nothing may be launched here now; None if launches are possible."""
        return self.health.blocked(self.inbox.clock())

    def is_usual(self, now: float) -> bool:
        """Return True if what can be launched here follows from the known facts alone: nothing else is odd.

        What is odd about the login or the servers, such as a clock that is off, may stay so and decides nothing here.
        """
        odd = any(map(is_about_rows, self.client.remarks()))
        return not (self.health.some_away or self.known.is_doubtful(now) or odd)

    def lack_of(self, fact: Fact[Any]) -> Reason | None:
        """Return the reason for a fact that is not had; None while it may be had soon."""
        return next((self.health.reason_of(lack) for lack in lacks_of([fact])), None)

    @property
    def limits_lack(self) -> Reason | None:
        """Why the limits of the cloud are not known, after a few tries; None while they are, or may be soon."""
        error = self.limits.error
        return None if error is None else self.health.reason_of(self.limits.lacks(stops=True)[0])

    @property
    def fresh(self) -> bool:
        """True in the first seconds while no reading has failed: unknown facts will be known soon."""
        young = self.inbox.clock() - self._began < self.timeouts.suspect
        return young and not any(fact.failures for fact in self._facts)

    @property
    def list_bound(self) -> float:
        """Seconds for which the cycle waits for a list of servers before it goes on without it."""
        return max(self.timeouts.suspect, min(self.timeouts.call, 2 * self.view.list.slowest))

    @property
    def reading(self) -> bool:
        """True while a fact is being read that the plan waits for."""
        return any(fact.busy for fact in (*self._facts, *self.known.names))

    def conclude(self) -> None:
        """Count the facts that were not had as not to be had, as check mode does not try them again."""
        for fact in self._facts:
            fact.conclude()
        self.needs.look_again()

    @property
    def unusable(self) -> str | None:
        """Why nothing can be launched here, for check mode: the errors of readings that are needed; None if it can."""
        lack = next((lack for lack in self.needs.lacks() if lack.stops), None)
        if lack is not None:
            return lack.text(self.provider.name)
        errors = (fact.error for fact in self._facts if fact is not self.known.zones)
        error = next((error for error in errors if isinstance(error, CloudUnavailable | CloudAuthError)), None)
        return None if error is None else str(error)

    @property
    def retries(self) -> bool:
        """True while a reading that the API answered with an error will be tried again soon, a few times in all."""
        soon = self.inbox.clock() + RETRY_WITHIN
        return any(0 < fact.failures < FEW and _answered(fact.error) and fact.not_before < soon for fact in self._facts)

    @property
    def _facts(self) -> tuple[Fact[Any], ...]:
        return (*self.known.facts, self.capacity, self.view.listing)

    # -- polling -------------------------------------------------------------------------------------------------

    def poll(self, now: float, watched: Watched) -> float:
        """Read the server list if it is due.

        :return: seconds until the next look is due; infinite if the cycle waits for nothing.
        """
        return min(self._poll(now, watched), self.creates.opening_due(), self.health.listen_due(now))

    def _poll(self, now: float, watched: Watched) -> float:
        age = now - self.view.listed_from
        due = min(
            RAREST - age if self.view.missing else float("inf"),
            self.creates.list_due(age),
            watched.due(now, age, self.experience),
        )
        due = max(due, self.view.list.due(now, watched.news_in(now, self.experience)))
        reading = self.capacity.waited(now)
        if due <= 0 and reading < self.timeouts.suspect:
            # The limits are read together with a whole list, whose answer wakes the cycle.
            return self.timeouts.suspect - reading
        if due <= 0:
            self.view.want_list(now)
            # Its answer wakes the cycle; until then, only a missing answer needs a look.
            return self.timeouts.suspect if self.view.listing.busy else max(0.05, self.view.listing.not_before - now)
        return due

    def look_for_room(self, now: float, unanswered: Resources) -> float:
        """Read the limits if the quota may show room that no list has shown yet.

        :param unanswered: the resources that the unanswered creates will use.
        :return: seconds until the next look is due; infinite if the cycle waits for nothing.
        """
        if self.limits.error is not None:
            return float("inf")
        uncounted = self.given_back.uncounted.at_most(now, self.creates.answers.present)
        expected = Expected(self.usage.known, uncounted, unanswered)
        return self.given_back.poll(expected, self.experience.delete_times, now)

    # -- inside --------------------------------------------------------------------------------------------------

    def _fact(
        self,
        what: str,
        read: Callable[[], Any],
        max_age: float,
        changed: Callable[[CloudError | None], None] | None = None,
        *,
        heeded: bool = True,
    ) -> Fact[Any]:
        def answered(error: CloudError | None) -> None:
            self.needs.look_again()
            if heeded or error is None:
                self.heard(error, what)
            if changed is not None:
                changed(error)
            self.inbox.nudge()

        return Fact(
            what,
            read,
            self.workers,
            self.inbox,
            max_age,
            answered,
            held_until=lambda: self.health.held_until(what),
            told=heeded,
        )

    def _new_health(self) -> Health:
        # Asked for later: the facts are made after the health.
        # pylint: disable=unnecessary-lambda
        return Health(
            self.provider.name,
            self.client.counters,
            self.timeouts,
            needed=lambda: self.needs.services(),
            lacks=lambda: self.needs.lacks(),
        )

    def _uses_volumes(self) -> bool:
        pools = self.provider.pools.values()
        return any(label.boot_from_volume for pool in pools for label in pool.labels.values())

    def _ask_for_server(self, server_id: str, answered: Answered) -> None:
        def done(result: tuple[float, Server | None] | None, error: CloudError | None) -> None:
            self.heard(error, "GET /servers/{id}")
            answered(result, error)
            self.inbox.nudge()

        self.workers.submit("GET /servers/{id}", lambda: (self.inbox.clock(), self.client.get_server(server_id)), done)

    def _new_capacity(self, error: CloudError | None) -> None:
        capacity, began = self.capacity.value, self.capacity.asked_at
        if error is not None or capacity is None or began is None:
            return
        self.view.take_list(capacity.listing, began)
        self.view.listing.works()
        self._hear_of_parts(capacity)
        self.capacity.asked_at = began if capacity.asked_at is None else capacity.asked_at
        self.usage.read(capacity, self.capacity.asked_at)

    def _hear_of_parts(self, capacity: Capacity) -> None:
        """Report what the other services than nova answered when the limits were read."""
        limits = capacity.limits
        if limits is None:
            if self.limits.error is not None:
                self.heard(None, "GET /servers/detail")
            return
        asked = [*([QUOTA] if limits.asks_neutron else []), *([VOLUME_LIMITS] if self._uses_volumes() else [])]
        failed = {error.call: error for error in limits.lacks}
        for error in failed.values():
            self.heard(error)
        for kind in asked:
            if kind not in failed and self.health.is_failing(kind):
                self.heard(None, kind)


def _answered(error: CloudError | None) -> bool:
    return error is not None and error.status is not None
