# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What somebody on call sees first of a site: what needs attention, on the screen and on the page."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.ansible_run import run_alone
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider
from tests.support.web_service import running

PATIENCE = 40.0
BETWEEN_LOOKS = 0.4
WIDE = 400
"""Columns of the screen: hardly a sentence is wrapped."""
LONG_AGO = 900.0
"""Seconds for which a request has waited when the launcher begins, so that its wait needs attention."""


@dataclass(frozen=True)
class Look:
    """What a view shows of what needs attention; true when it has all the words."""

    missing: tuple[str, ...]
    shown: str

    def __bool__(self) -> bool:
        return not self.missing


def usual(site: Site) -> None:
    """One provider with one pool and one label."""
    site.configure(provider("one", pool("main", label("small"))))


@dataclass(frozen=True)
class Trouble:
    """What must be read of a trouble.

    :ivar told: words about the cause, among them its owner where there is one.
    :ivar begin: writes the configuration before a launcher begins.
    :ivar options: those of the launcher's cycle.
    """

    told: tuple[str, ...]
    remedy: str
    begin: Callable[[Site], None] = usual
    options: Mapping[str, Any] = field(default_factory=dict)


def ask_long_ago(site: Site, *labels: str, **more: Any) -> str:
    """A request that somebody has made a quarter of an hour ago, while no launcher worked; its id."""
    made = time.time() - LONG_AGO
    return site.requestor.ask(*(labels or ("small",)), created_time=made, state_time=made, **more)


def view_of(site: Site) -> Path:
    """The file of somebody who looks; it is another one than the launcher's, so that only that one can be broken."""
    kept = site.folder / "looking.yaml"
    kept.write_text(site.config.read_text("utf-8"), encoding="utf-8")
    return kept


def on_the_screen(config: Path, words: tuple[str, ...]) -> Look:
    """The part of the screen of ``nodepool_status`` that stands above the providers."""
    lines = run_alone("nodepool_status", {"config": str(config), "width": WIDE}, config.parent).result["lines"]
    return _look(" ".join(lines[: lines.index("PROVIDERS (# ours, - others)")]), words)


def on_the_page(address: Callable[[str], Any], words: tuple[str, ...]) -> Look:
    """The part of the first page that says what needs attention.

    :param address: answers a path.
    """
    text = str(address("/").text)
    section = re.search(r'<section class="attention.*?</section>', text, re.DOTALL)
    # On the screen a colon stands behind the place, and the owner is in brackets.
    # There is no such part before the service has read the tree.
    rows = re.sub(r'</span>\s*<span class="told">', ": ", section[0] if section is not None else "")
    shown = html.unescape(re.sub(r"<[^>]*>", "", rows))
    return _look(re.sub(r"owner: (\w+)", r"[owner: \1]", shown), words)


def _look(text: str, words: tuple[str, ...]) -> Look:
    shown = " ".join(text.split())
    return Look(tuple(word for word in words if word not in shown), shown)


def assert_named(config: Path, trouble: Trouble) -> None:
    """The screen, and then the page, tell the cause and the remedy."""
    words = (*trouble.told, trouble.remedy)
    # Each look runs a program that reads the whole tree.
    eventually(lambda: on_the_screen(config, words), PATIENCE, lambda _seconds: time.sleep(BETWEEN_LOOKS))
    with running(config) as service:
        eventually(lambda: on_the_page(service.get, words), PATIENCE)


def assert_named_while_a_launcher_works(site: Site, make: Callable[[Site], object], trouble: Trouble) -> None:
    """Let a launcher act for the provider ``one``, have the trouble made, and look."""
    trouble.begin(site)
    config = view_of(site)
    with site.stay(**{"api_timeout": 2.0, **trouble.options}) as cycle:
        eventually(cycle.acts, PATIENCE)
        make(site)
        assert_named(config, trouble)
        for cloud in site.clouds.values():
            cloud.clear_faults()
