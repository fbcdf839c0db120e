# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cycle's looks at the configuration files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame import config_watch
from tests.support.fixtures_zookeeper import eventually

LOOK_EVERY = 0.1


class Looks:
    """How often the cycle has looked at the stamps of its files. *before* is called right before each look."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.before: Callable[[], object] = lambda: None
        for name in ("LOOK_EVERY", "SETTLE", "MISSED_AFTER"):
            patch.setattr(config_watch, name, LOOK_EVERY)
        real = config_watch.ConfigWatch.poll

        def poll(watch: config_watch.ConfigWatch, now: float) -> config_watch.News | None:
            if watch.due(now) > 0:
                return None
            self.before()
            news = real(watch, now)
            self.count += 1
            return news

        patch.setattr(config_watch.ConfigWatch, "poll", poll)

    def happen(self, times: int = 2) -> None:
        """Wait until the files as they are now have been looked at *times* times."""
        # The look that goes on now may have seen them as they were.
        end = self.count + 1 + times
        eventually(lambda: self.count >= end)


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)
