# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which providers this cycle may take, and which one it hands over next, so that hosts share the work evenly.

One provider moves at a time, to a host that has read the facts of its cloud: its requests wait for a moment only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ....clients.zookeeper.store import Store
from ....launching.assignment import LauncherHost
from ....model.lines import Line, Trouble
from ....model.own_tree import PROVIDERS
from .live_launchers import Here, LiveLaunchers, shown_name
from .stock_launchers import LEFT, StockLaunchers

PATIENCE = 5.0
"""Seconds after which a launcher takes a free provider that its own host does not take."""
CALM = 3.0
"""Seconds for which the hosts must be the same before a provider moves: several may start or end together."""
MOVE_EVERY = 5.0
"""Seconds between two providers that this cycle hands over."""
LOOK_EVERY = 0.5
"""Seconds between two looks whether a provider may move now."""
SHUNNED = 60.0
"""Seconds for which a provider stays that its host did not take although it was ready."""
TWIN = 60.0
"""Seconds after which a launcher of the same names elsewhere is told: after a restart of the machine, that may be the
registration of before."""
ENDING = 60.0
"""Seconds before the deadline of a cycle from which no provider moves: whoever follows on it takes all of them then."""
CREATES_END = 5.0
"""Seconds for which a provider that moves waits for answers to its creates, none of which is sent meanwhile."""


class Assignments:
    """Follows the registrations of all launchers.

    :ivar leaving: the provider that this cycle is about to hand over; "" if there is none.
    :param say: takes lines for the operator.
    :param stock: Nodepool's launchers in the same tree.
    :param shares: False for a cycle that is no launcher of the tree: it takes whatever is free.
    """

    def __init__(
        self, store: Store, here: Here, say: Callable[[Line], None], stock: StockLaunchers, *, shares: bool = True
    ) -> None:
        self._store = store
        self._stock = stock
        self._stock_hosts: dict[str, str] = {}
        self._live = LiveLaunchers(store, here)
        self._say = say
        self._shares = shares
        self._hosts: dict[str, LauncherHost] = {}
        self._alone = False
        self._changed_at = float("-inf")
        self._moved_at = float("-inf")
        self._leaving_since = 0.0
        self._targets: dict[str, str] = {}
        self._free_since: dict[str, float] = {}
        self._stays_until: dict[str, float] = {}
        self._told: dict[str, str] = {}
        self._moves = False
        self._twin_since: float | None = None
        self._twin_told = False
        self.leaving = ""

    @property
    def alone(self) -> bool:
        """True while there is no other cycle of a launcher, not even of this host."""
        return self._alone

    @property
    def _only_host(self) -> bool:
        return self._hosts.keys() <= {self._live.host}

    @property
    def host(self) -> str:
        """The host that this cycle belongs to."""
        return self._live.host

    @property
    def is_first(self) -> bool:
        """True for the host that reports for the whole tree: the first one that acts for a provider."""
        acting = {host for name in self._targets if (host := self._live.holder(name)) in self._hosts}
        return self._only_host or self._live.host == min(acting, default=self._live.host)

    def stands_by(self, provider: str) -> bool:
        """Return True if a launcher on another host could act for the provider."""
        return any(provider in one.wants for host, one in self._hosts.items() if host != self._live.host)

    def wanted_elsewhere(self, provider: str) -> bool:
        """Return True if a launcher of another host that stays can act for the provider now."""
        hosts = self._live.hosts().values()
        return any(one.stays and provider in one.wants for one in hosts if one.host != self._live.host)

    def follow(self, wants: Collection[str], now: float, *, ready: bool, ends_at: float = float("inf")) -> None:
        """Register this cycle, and compute who must act; called once per pass.

        :param wants: the providers that this cycle can act for.
        :param ends_at: the deadline of the cycle.
        """
        self._stock_hosts = self._stock.providers()
        if not self._shares:
            return
        self._stock.remember(now)
        wants = [name for name in wants if name not in self._stock_hosts]
        self._live.register(wants, ready=ready, ending=now > ends_at - ENDING)
        self._look_for_twin(now)
        hosts = self._live.hosts()
        if hosts.keys() != self._hosts.keys():
            self._changed_at = now
        self._hosts = hosts
        self._alone = self._live.count() <= 1
        self._targets = {} if self._only_host else self._live.targets(hosts)

    def may_take(self, provider: str, now: float) -> bool:
        """Return True if this cycle may take the provider when its lock is free."""
        if provider in self._stock_hosts:
            return False
        if self._targets.get(provider, self._live.host) == self._live.host:
            self._free_since.pop(provider, None)
            return True
        if self._store.own.is_locked(f"{PROVIDERS}/{provider}"):
            self._free_since.pop(provider, None)
            return False
        return now - self._free_since.setdefault(provider, now) >= PATIENCE

    def choose_leaving(self, acting: Iterable[str], now: float) -> None:
        """Choose the provider that moves next to another host, or give up a move whose reason is gone.

        A provider on which a launcher of Nodepool works goes at once: both would delete what the other has begun.
        """
        ceded = sorted(name for name in acting if name in self._stock_hosts)
        if ceded:
            if self.leaving not in ceded:
                self.leaving, self._leaving_since = ceded[0], now
            return
        movable = [name for name in sorted(acting) if self._can_move(name, now)] if not self._only_host else []
        self._moves = bool(movable)
        if self.leaving not in movable:
            self.leaving = ""
        if not self.leaving and movable and self._is_calm(now):
            self.leaving, self._leaving_since = movable[0], now

    def may_leave(self, now: float, *, creating: bool) -> bool:
        """Return True if the chosen provider can be released now.

        :param creating: True while creates of the provider wait for an answer.
        """
        return bool(self.leaving) and (not creating or now - self._leaving_since > CREATES_END)

    def left(self, now: float) -> None:
        """Note that the chosen provider was released."""
        name, self.leaving, self._moved_at = self.leaving, "", now
        if name in self._stock_hosts:
            self._told[name] = self._stock_hosts[name]
            self._say(Line(f"provider {name}: {LEFT.format(self._stock_hosts[name])}", provider=name))
            return
        target = shown_name(self._targets.get(name, ""), self._hosts)
        self._say(Line(f"provider {name}: handed over to {target}, so that the hosts share the work", provider=name))

    def tell(self, standing_by: Iterable[str]) -> None:
        """Tell once for which providers this cycle stands by, and which host acts for them."""
        for name in standing_by:
            if name in self._stock_hosts:
                if self._told.get(name) != self._stock_hosts[name]:
                    self._told[name] = self._stock_hosts[name]
                    text = f"standing by, it is {LEFT.format(self._stock_hosts[name])}"
                    self._say(Line(f"provider {name}: {text}", provider=name))
                continue
            holder = self._live.holder(name) or ""
            acts = holder not in ("", self._live.host) and self._store.own.is_locked(f"{PROVIDERS}/{name}")
            if acts and holder in self._hosts and self._told.get(name) != holder:
                self._told[name] = holder
                shown = shown_name(holder, self._hosts)
                self._say(Line(f"provider {name}: standing by, {shown} acts", provider=name))

    def next_due(self, now: float) -> float:
        """Return the seconds until a free provider may be taken, or one may be handed over."""
        dues = [since + PATIENCE - now for since in self._free_since.values()]
        return max(0.05, min([*dues, LOOK_EVERY] if self._moves else dues, default=float("inf")))

    def acts(self, provider: str, now: float) -> None:
        """Note that this cycle acts for the provider now."""
        if self._targets.get(provider, self._live.host) != self._live.host:
            self._stays_until[provider] = now + SHUNNED
        self._told.pop(provider, None)
        self._free_since.pop(provider, None)

    def withdraw(self) -> None:
        """Leave the launchers of the tree: other hosts take over what is free from now on."""
        self._live.withdraw()

    def _look_for_twin(self, now: float) -> None:
        """Tell once that another machine has the same names: then one of both stands by for all that the other does."""
        if not self._live.has_twin():
            self._twin_since = None
            return
        if self._twin_since is None:
            self._twin_since = now
        if now - self._twin_since >= TWIN and not self._twin_told:
            self._twin_told = True
            name, _colon, folder = self._live.host.partition(":")
            self._say(
                Trouble(
                    f"another launcher has the host name {name} and the state_dir {folder}, on another machine or"
                    " another disk: both count as one launcher, and one of them only stands by. Give each machine a"
                    " host name of its own"
                )
            )

    def _is_calm(self, now: float) -> bool:
        """Return True if a provider may move now: no host came or went lately, and every provider has its launcher."""
        rested = now - self._changed_at >= CALM and now - self._moved_at >= MOVE_EVERY
        return rested and self._all_taken()

    def _can_move(self, provider: str, now: float) -> bool:
        target = self._targets.get(provider, self._live.host)
        if now < self._stays_until.get(provider, now):
            return False
        return target != self._live.host and target in self._hosts and self._hosts[target].ready

    def _all_taken(self) -> bool:
        return all(self._store.own.is_locked(f"{PROVIDERS}/{name}") for name in self._targets)
