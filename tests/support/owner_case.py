# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of whose fault a failure is have in common: refusing clouds, and what was seen of a world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.faults import error_from_answer
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import Answer
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudAuthError,
    CloudError,
    CloudRefused,
)
from tests.support.world import Cycle, World

CREATE = "POST /servers"
NO_HOST = "No valid host was found. "
NO_ADDRESS = (
    "Build of instance 1 aborted: Failed to allocate the network(s) with error No fixed IP addresses available"
    " for network: net-public, not rescheduling."
)

TENANT: dict[str, Any] = {"dynamic-instance-properties": {"tenant": "{request.tenant_name}"}}


TOGETHER = 5.0
"""Seconds within which servers are made together: the first of them needs some until it fails."""


def creates(cycle: Cycle) -> list[float]:
    return [when for client in cycle.clients for when, kind in client.calls if kind == CREATE]


def served(world: World, request: str) -> Callable[[], bool]:
    return lambda: request in world.fulfilled


def failed(world: World, request: str) -> Callable[[], bool]:
    return lambda: world.state(request) == "failed"


def most_within(moments: list[float], seconds: float) -> int:
    return max((sum(1 for other in moments if 0 <= other - one < seconds) for one in moments), default=0)


def apart(moments: list[float]) -> list[float]:
    """Return when servers were made, with those that were made together as one."""
    found: list[float] = []
    for moment in sorted(moments):
        if not found or moment - found[-1] >= TOGETHER:
            found.append(moment)
    return found


def refusing(text: str, status: int = 400) -> Any:
    message = f"POST /servers was answered with {status}: {text}"
    return lambda: CloudRefused(message, call=CREATE, status=status, error_type="badRequest")


PAGE = "<html><body><h1>403 Forbidden</h1>Request forbidden by administrative rules.</body></html>"


def blocked(call: str = CREATE, body: str = PAGE, status: int = 403) -> CloudError:
    """Return the error of a call that a proxy or a firewall answers in the place of the service."""
    return error_from_answer(provider="east", call=call, status=status, body=body)


def answered(answer: Answer) -> CloudError:
    """Return the error of a call that was answered so."""
    kind = CloudAuthError if answer.status == 401 else CloudRefused
    text = f"{answer.call} was answered with {answer.status}: {answer.text}"
    return kind(text, call=answer.call, status=answer.status, error_type=answer.error_type, foreign=answer.foreign)


def guard(world: World, refuses: Callable[[Any], Any]) -> None:
    """Have nova refuse the creates for which *refuses* returns an error."""
    cloud = world.clouds["east"]
    create = cloud.create

    def guarded(spec: Any) -> str:
        error = refuses(spec)
        if error is not None:
            raise error
        return create(spec)

    cloud.create = guarded  # type: ignore[method-assign]
