# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an event source does with its arguments: it follows a tree in a thread and hands over its events.

Nothing here needs ansible-core: ansible-rulebook may run in a Python of its own.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.cycle_options import ConfigOptions
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.similar import hint
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.follower import (
    Follower,
    Memory,
    Wanted,
    follow,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.happenings import Limits
from ansible_collections.stackci.nodepool.plugins.plugin_utils.events.journal import Journal
from ansible_collections.stackci.nodepool.plugins.plugin_utils.events.webhook import Webhook

TEXTS = ("config", "secure_config", "settings", "journal", "state_file", "webhook", "webhook_token")
LISTS = ("types", "providers")
NUMBERS = {
    "wait_seconds": Limits.wait,
    "lease_seconds": Limits.lease,
    "leak_seconds": Limits.leak,
    "settle_seconds": Limits.settle,
    "quota_left": Limits.quota,
    "every": 5.0,
}
"""Argument → its default."""
ALIASES = {"nodepool_config": "config", "nodepool_secure_config": "secure_config", "nodepool_settings": "settings"}
DEFAULTS = {"config": "/etc/nodepool/nodepool.yaml"}
KNOWN = (*TEXTS, *LISTS, *NUMBERS, *ALIASES)


class WebOptions(ConfigOptions):
    """The paths of the configuration. No cloud is called, so clouds.yaml is not watched."""

    def cloud_stamps(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


def checked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with their defaults.

    :raises ConfigError: with all problems.
    """
    problems: list[str] = []
    found: dict[str, Any] = {**DEFAULTS, **NUMBERS, **{name: [] for name in LISTS}}
    for given, value in arguments.items():
        name = ALIASES.get(given, given)
        if given not in KNOWN:
            problems.append(f"{given}: there is no such argument; {hint(given, KNOWN)}")
        elif name in LISTS:
            items = [value] if isinstance(value, str) else value
            if isinstance(items, list) and all(isinstance(item, str) for item in items):
                found[name] = items
            else:
                problems.append(f"{given}: must be a list of texts")
        elif name in NUMBERS:
            number = _number(value)
            if number is None or (name == "every" and number < 0.1) or (name == "quota_left" and number > 1):
                problems.append(f"{given}: must be {_WORDS.get(name, 'a number of seconds, 0 or more')}")
            else:
                found[name] = number
        elif isinstance(value, str):
            found[name] = value
        else:
            problems.append(f"{given}: must be a text")
    address = found.get("webhook", "")
    if address and not str(address).startswith(("http://", "https://")):
        problems.append("webhook: must begin with http:// or https://")
    if problems:
        raise ConfigError(sorted(problems))
    return found


_WORDS = {"every": "a number of seconds, 0.1 or more", "quota_left": "a share between 0 and 1"}


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 and not isinstance(value, bool) else None


def run(
    arguments: Mapping[str, Any],
    tell: Callable[[dict[str, Any]], None],
    stop: threading.Event,
    say: Callable[[str], None],
) -> None:
    """Follow the tree until *stop* is set.

    :param tell: takes each event, after the journal has it.
    :param say: takes lines for people.
    :raises NodepoolError: the arguments or the configuration cannot be used, or a library is missing.
    """
    given = checked(arguments)
    journal = Journal(given["journal"], say) if given.get("journal") else None
    memory = Memory(given.get("state_file", ""), say)
    try:
        # What cannot be written from the beginning is a mistake in the arguments; later it may pass.
        memory.begin()
        if journal is not None:
            journal.begin()
    except OSError as problem:
        raise ConfigError([f"{problem.filename}: cannot be written: {problem.strerror}"]) from problem
    webhook = Webhook(given["webhook"], given.get("webhook_token", ""), say) if given.get("webhook") else None

    def told(event: dict[str, Any]) -> None:
        if journal is not None:
            journal.add(event)
        if webhook is not None:
            webhook.add(event)
        tell(event)

    limits = Limits(
        wait=given["wait_seconds"],
        lease=given["lease_seconds"],
        quota=given["quota_left"],
        leak=given["leak_seconds"],
        settle=given["settle_seconds"],
    )
    options = WebOptions(
        config=given["config"], secure_config=given.get("secure_config"), settings=given.get("settings")
    )
    again = journal.write_waiting if journal is not None else _nothing
    try:
        follower = Follower(limits, told, Wanted(given["types"], given["providers"]), memory)
        follow(options, follower, stop, every=given["every"], say=say, each_time=again)
    finally:
        if journal is not None:
            journal.close()
        if webhook is not None:
            webhook.close()


def _nothing() -> None:
    """Do nothing: there is no journal."""
