# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports servers that name a provider of this tree but have no record in it, once per provider.

The report comes when the tree acts for the provider for the first time. Possible causes are a trial next to a
production site, a wrong chroot and a ZooKeeper that lost its data.
"""

from __future__ import annotations

from ....clients.zookeeper.link.paths import segment
from ....model.lines import Line, amount, word_for
from ....model.own_tree import MET
from ....sweeping.candidate import Kind
from ....sweeping.find import STRANGE, Seen, find
from ..context.context import Context
from ..provider.actor import ProviderActor
from .tree_view import known_to

_EXAMPLES = 3


class FirstMeeting:
    """The first check of each provider of a cycle."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._looked: set[str] = set()

    def step(self, now: float) -> None:
        """Check every provider whose first list of servers has come."""
        store, account = self._context.store, self._context.account
        for name, actor in self._context.actors.items():
            if name in self._looked or actor.view.listed_from <= 0:
                continue
            self._looked.add(name)
            if store.own.get(_path(name)) is not None:
                continue
            text = strangers(self._context, actor)
            if text:
                account.strangers[name] = text
                account.say(Line(text, provider=name))
            store.own.put(_path(name), {"at": now, "strangers": bool(text)})


def would_say(context: Context) -> list[str]:
    """Return the reports that the first check of each provider would make, for check mode."""
    actors = [actor for name, actor in context.actors.items() if context.store.own.get(_path(name)) is None]
    return [text for actor in actors if (text := strangers(context, actor))]


def strangers(context: Context, actor: ProviderActor) -> str:
    """Return a warning about servers that name the provider but are not this tree's; "" if there are none."""
    name = actor.provider.name
    candidates = find(Seen(actor.view.servers), known_to(context.store, context.site, name))
    found = [candidate for candidate in candidates if candidate.kind == Kind.SERVER and candidate.code in STRANGE]
    if not found:
        return ""
    named = ", ".join(f"{candidate.name} ({candidate.id})" for candidate in found[:_EXAMPLES]) + (
        ", …" * (len(found) > _EXAMPLES)
    )
    subject = f"{amount(len(found), 'server')} {word_for(len(found), 'has', 'have')}"
    return (
        f"provider {name}: {subject} this provider's name, and no record of this tree names them: {named}."
        " They are not touched, and count as used by others. If this tree should know them, stop the launcher and check"
        " zookeeper-servers, its chroot and the data in ZooKeeper. Otherwise see docs/operating.md, 'Several trees in"
        " one project'"
    )


def _path(name: str) -> str:
    return f"{MET}/{segment(name)}"
