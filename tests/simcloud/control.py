# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control endpoint: what tests read and change behind the API's back. Nothing here is logged as a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from tests.simcloud.answers import Answer
from tests.simcloud.cloud import Cloud
from tests.simcloud.timing import Scheduler


class Control:
    """Answers ``/control/...``.

    ``GET state``; and below ``clouds/<name>/``: ``GET state``, ``GET servers``, ``GET journal``, ``GET|DELETE calls``,
    ``GET counts``, ``PUT settings``, ``GET|POST|DELETE faults``, ``DELETE faults/<id>``, ``POST|DELETE outsiders``,
    ``POST flavors/<name>``, ``DELETE boots``, ``POST stops``, ``DELETE tokens``.
    """

    def __init__(self, clouds: Mapping[str, Cloud], scheduler: Scheduler) -> None:
        self._clouds = clouds
        self._scheduler = scheduler

    def handle(self, method: str, path: list[str], body: bytes) -> Answer:
        """Answer one request; a wrong one gets 400 or 404 with ``{"error": ...}``."""
        try:
            document = orjson.loads(body) if body else {}
            if path == ["state"] and method == "GET":
                return Answer(200, {"clouds": {name: cloud.state() for name, cloud in self._clouds.items()}})
            if len(path) >= 3 and path[0] == "clouds" and path[1] in self._clouds:
                answer = self._cloud(self._clouds[path[1]], method, path[2:], document)
                if answer is not None:
                    return answer
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            return Answer(400, {"error": str(problem)})
        return Answer(404, {"error": f"no {method} /control/{'/'.join(path)}"})

    def _cloud(self, cloud: Cloud, method: str, path: list[str], document: Any) -> Answer | None:
        match method, path:
            case "GET", ["state"]:
                return Answer(200, cloud.state())
            case "GET", ["servers"]:
                return Answer(200, {"servers": cloud.servers()})
            case "GET", ["journal"]:
                return Answer(200, cloud.journal())
            case "GET", ["calls"]:
                return Answer(200, {"calls": cloud.log.rows()})
            case "DELETE", ["calls"]:
                cloud.log.clear()
                return Answer(204)
            case "GET", ["counts"]:
                return Answer(200, cloud.log.counts())
            case "PUT", ["settings"]:
                cloud.settings.change(document)
                return Answer(204)
            case "DELETE", ["tokens"]:
                return Answer(200, {"revoked": cloud.identity.revoke_all()})
            case "POST", ["stops"]:
                return Answer(200, {"stopped": cloud.machines.stop(str(document.get("name", "*")))})
            case "DELETE", ["boots"]:
                return Answer(200, {"ended": cloud.machines.end_boots()})
            case "POST", ["flavors", name]:
                return Answer(201, {"id": cloud.renew_flavor(name)})
            case "POST", ["outsiders"]:
                return self._add_outsiders(cloud, document)
            case "DELETE", ["outsiders"]:
                return Answer(200, {"removed": cloud.machines.remove_outsiders(document.get("count"))})
        return self._faults(cloud, method, path, document)

    def _faults(self, cloud: Cloud, method: str, path: list[str], document: Any) -> Answer | None:
        match method, path:
            case "GET", ["faults"]:
                return Answer(200, {"faults": cloud.faults.rows()})
            case "POST", ["faults"]:
                return Answer(201, cloud.faults.add(document, self._scheduler.now()).row())
            case "DELETE", ["faults"]:
                cloud.faults.clear()
                return Answer(204)
            case "DELETE", ["faults", ident]:
                return Answer(204) if cloud.faults.remove(int(ident)) else None
        return None

    @staticmethod
    def _add_outsiders(cloud: Cloud, document: Any) -> Answer:
        flavors = list(cloud.flavors.values())
        wanted = document.get("flavor")
        flavor = next((item for item in flavors if wanted in (None, item.name, item.id)), None)
        if flavor is None:
            raise ValueError(f"no flavor {wanted!r} in cloud {cloud.name}")
        own = [item.id for item in cloud.network.networks.values() if item.shared or not item.external]
        networks = [("network", own[0])] if own and document.get("ports", True) else []
        names = str(document.get("name", "outsider-{}"))
        return Answer(201, {"servers": cloud.machines.add_outsiders(int(document["count"]), flavor, networks, names)})
