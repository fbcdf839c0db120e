# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The breakers of the providers that this cycle acts for, kept in ZooKeeper by provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....launching.breaking import Breaker
from ....model import reasons
from ....model.lines import Trouble
from ....model.reasons import Reason
from ....model.stored import BadDocument, all_made
from ..context.context import Context

BREAKERS = "breakers"
_READ = all_made(Breaker.from_document)


class Breakers:
    """The breakers by provider, image and flavor."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def failed(self, provider: str, image: str, flavor: str, text: str) -> None:
        """Count a launch that failed for a reason of its own (not for quota, not for the API)."""
        now, key = self._context.now(), _key(image, flavor)
        before, after = self._change(provider, key, lambda breaker: (breaker or Breaker()).failed(text, now))
        before, after = before or Breaker(), after or Breaker()
        if after.is_open(now) and not before.is_open(now):
            line = f"{provider}: launches of {image} with flavor {flavor} failed {after.failures} times in a row:"
            line += f" none for {after.until - now:.0f} s; last: {text}"
            self._context.account.say(Trouble(line, provider=provider, image=image))

    def succeeded(self, provider: str, image: str, flavor: str) -> None:
        """Close the breaker and reset its count after a launch that succeeded."""
        if _key(image, flavor) in self._known(provider):
            self._change(provider, _key(image, flavor), lambda breaker: None)

    def hindrance(self, provider: str, where: str, image: str, flavor: str) -> Reason | None:
        """Return why nothing may be launched with this image and flavor now; None if the breaker is closed."""
        now = self._context.now()
        breaker = self._known(provider).get(_key(image, flavor))
        if breaker is None or not breaker.is_open(now):
            return None
        figures = {
            "where": where,
            "image": image,
            "flavor": flavor,
            "count": breaker.failures,
            "seconds": round(breaker.until - now),
            "text": breaker.text,
        }
        return Reason(reasons.BREAKER, figures)

    def document(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the open breakers by provider and "image/flavor", for the result."""
        now = self._context.now()
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for provider in self._context.actors:
            for key, breaker in self._known(provider).items():
                if breaker.is_open(now):
                    found.setdefault(provider, {})[key] = breaker.document()
        return found

    def _known(self, provider: str) -> dict[str, Breaker]:
        return self._as_of_now(self._context.store.own.understood(f"{BREAKERS}/{provider}", _READ) or {})

    def _as_of_now(self, known: Mapping[str, Breaker]) -> dict[str, Breaker]:
        now = self._context.now()
        return {key: breaker.as_of(now) for key, breaker in known.items()}

    def _change(
        self, provider: str, key: str, step: Callable[[Breaker | None], Breaker | None]
    ) -> tuple[Breaker | None, Breaker | None]:
        """Change one breaker with *step* (None: closed) and store it; return the breaker before and after.

        An operator may close the breaker at the same time: then *step* is called again with None.
        """
        seen: list[tuple[Breaker | None, Breaker | None]] = []

        def make(document: Mapping[str, Any] | None) -> dict[str, Any]:
            try:
                known = self._as_of_now(_READ(document or {}))
            except BadDocument:
                known = {}
            before = known.pop(key, None)
            after = step(before)
            seen.append((before, after))
            if after is not None:
                known[key] = after
            return {name: breaker.document() for name, breaker in known.items()}

        self._context.store.own.change(f"{BREAKERS}/{provider}", make)
        return seen[-1]


def _key(image: str, flavor: str) -> str:
    return f"{image}/{flavor}"
