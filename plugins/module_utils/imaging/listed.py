# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The images that the builders of a tree list: one builder does not delete what another one lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.config.types import NodepoolConfig
from ..model.documents import mapping, whole, words

MOST_PAIRS = 20_000
"""Largest number of (provider, image) pairs that are stored; a builder that lists more counts as listing everything."""


@dataclass(frozen=True)
class Listed:
    """What one builder lists.

    *images*: the names of its diskimages. *uploads*: (provider, image) that it uploads; None for everything.
    """

    images: frozenset[str] = frozenset()
    uploads: frozenset[tuple[str, str]] | None = frozenset()

    @classmethod
    def of(cls, config: NodepoolConfig) -> Listed:
        """Return what the configuration lists."""
        pairs = frozenset(
            (provider.name, image) for provider in config.providers.values() for image in provider.diskimages
        )
        return cls(frozenset(config.diskimages), pairs if len(pairs) <= MOST_PAIRS else None)

    def document(self) -> dict[str, Any]:
        """Return it as it is stored: providers name images by their place in the list of images."""
        names = sorted({*self.images, *(image for _provider, image in self.uploads or ())})
        places = {name: place for place, name in enumerate(names)}
        providers: dict[str, list[int]] = {}
        for provider, image in sorted(self.uploads or ()):
            providers.setdefault(provider, []).append(places[image])
        return {"images": names, "providers": None if self.uploads is None else providers}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Listed:
        """Read what was stored. A document without providers stands for all of them."""
        names, providers = words(document.get("images")), mapping(document.get("providers"))
        if providers is None:
            return cls(frozenset(names), None)
        pairs = {
            (provider, names[place])
            for provider, places in providers.items()
            for place in (map(whole, places) if isinstance(places, list) else ())
            if place is not None and 0 <= place < len(names)
        }
        return cls(frozenset(names), frozenset(pairs))


@dataclass(frozen=True)
class OtherBuilders:
    """The other builders of the tree.

    *listed*: what those list that work with this collection. *hosts*: the short host names of live builders that do not
    tell what they list, as Nodepool's. *alive*: the ids of those of which a cycle runs.
    """

    listed: tuple[Listed, ...] = ()
    hosts: frozenset[str] = field(default_factory=frozenset)
    alive: frozenset[str] = field(default_factory=frozenset)

    def list_image(self, image: str) -> bool:
        """Return True when one of them builds the image."""
        return any(image in each.images for each in self.listed)

    def list_upload(self, provider: str, image: str) -> bool:
        """Return True when one of them uploads the image to the provider."""
        return any(
            image in each.images if each.uploads is None else (provider, image) in each.uploads for each in self.listed
        )

    def has_host(self, host: str | None) -> bool:
        """Return True when a live builder on that host may list anything."""
        return bool(host) and str(host).partition(".")[0] in self.hosts
