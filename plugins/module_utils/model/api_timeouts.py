# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time limits for calls to a cloud's API. All follow from one number, the longest time without data."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_ABSENCE = 60.0
"""Maximum seconds for which calls are stopped when an API asks for a pause (``Retry-After``)."""
AUXILIARY_SECONDS = 10.0
"""Maximum seconds for a call that no decision needs, such as that for a console's log."""
MOST_AUXILIARY = 4
"""Maximum number of a provider's auxiliary calls without an answer."""
MOST_CREATES = 64
"""Maximum number of a provider's creates without an answer; each of them needs a thread and a connection."""


@dataclass(frozen=True)
class ApiTimeouts:
    """The time limits, all in seconds. *silence*: how long an API may send no data before the call is given up."""

    silence: float = 30.0

    @property
    def connect(self) -> float:
        """Limit for making a connection."""
        return min(5.0, self.silence)

    @property
    def call(self) -> float:
        """Limit for one HTTP call with its whole answer, which may come in pieces."""
        return 2 * self.silence

    @property
    def job(self) -> float:
        """Limit for a job of several calls; after it, the launcher gives up the thread."""
        return 4 * self.silence

    @property
    def suspect(self) -> float:
        """Time after which a call without an answer makes its provider suspect: the launcher gives it no more work."""
        return self.silence / 3

    @property
    def stuck(self) -> float:
        """Time of trouble after which a provider's launches that have no server yet move to another provider."""
        return self.silence / 2

    @property
    def listen(self) -> float:
        """Time without an answer to a cheap call after which a silent provider is not only slow.

        It is what lies between :attr:`suspect` and :attr:`stuck`.
        """
        return self.stuck - self.suspect

    @property
    def listen_for(self) -> float:
        """Time from when a trouble is noticed for which an answer to a cheap call shows that its provider is only slow.

        One list is waited for until then; a cloud that needs longer for it cannot be told from one in which it hangs.
        """
        return 3 * self.silence - self.suspect

    @property
    def stuck_with_server(self) -> float:
        """Time of trouble after which a provider's launches that have a server move to another provider."""
        return 2 * self.silence

    def create_first(self, floor: float) -> float:
        """Return the limit for a create in a cloud whose speed is unknown. *floor*: the least limit for this cloud."""
        return min(self.create_most(floor), 10 * max(self.silence, floor))

    def create_most(self, floor: float) -> float:
        """Return the highest limit for a create, however long the cloud's last creates took."""
        return max(20 * self.silence, floor)
