# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cinder v3: limits and the volumes of servers that boot from one."""

from __future__ import annotations

import uuid
from typing import Any

from tests.simcloud.answers import Answer, nova_error
from tests.simcloud.call import Call
from tests.simcloud.config import UNLIMITED, Settings
from tests.simcloud.paging import BadPage, cut, parse_limit
from tests.simcloud.timing import Scheduler, iso_micro


class VolumeState:
    """The volumes of one cloud, kept as the documents that the API shows."""

    def __init__(self, settings: Settings, scheduler: Scheduler) -> None:
        self.volumes: dict[str, dict[str, Any]] = {}
        self._settings = settings
        self._scheduler = scheduler

    @property
    def gigabytes(self) -> int:
        return sum(int(volume["size"]) for volume in self.volumes.values())

    def refusal(self, size: int) -> str | None:
        """Return why there is no room for a volume of so many GiB; None when there is."""
        quota = self._settings.quota
        if quota["gigabytes"] != UNLIMITED and self.gigabytes + size > quota["gigabytes"]:
            return (
                f"VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. "
                f"Requested {size}G, quota is {quota['gigabytes']}G and {self.gigabytes}G has been consumed."
            )
        if quota["volumes"] != UNLIMITED and len(self.volumes) >= quota["volumes"]:
            return (
                f"VolumeLimitExceeded: Maximum number of volumes allowed ({quota['volumes']}) "
                "exceeded for quota 'volumes'."
            )
        return None

    def create(self, size: int, *, server_id: str | None = None, terminate: bool = False, name: str = "") -> str:
        """Make a volume, attached when a server is named; return its id. The caller has asked for room."""
        ident = str(uuid.uuid4())
        now = iso_micro(self._scheduler.now())
        attachments = []
        if server_id is not None:
            attachments = [
                {
                    "id": ident,
                    "attachment_id": str(uuid.uuid4()),
                    "volume_id": ident,
                    "server_id": server_id,
                    "host_name": None,
                    "device": "/dev/vda",
                    "attached_at": now,
                }
            ]
        self.volumes[ident] = {
            "id": ident,
            "name": name,
            "size": size,
            "status": "in-use" if attachments else "available",
            "attachments": attachments,
            "availability_zone": "nova",
            "bootable": "true" if attachments else "false",
            "created_at": now,
            "updated_at": now,
            "description": "",
            "volume_type": "default",
            "snapshot_id": None,
            "source_volid": None,
            "metadata": {},
            "encrypted": False,
            "multiattach": False,
            "delete_on_termination": terminate,
        }
        return ident

    def release(self, ident: str, *, delete: bool) -> None:
        """Detach a volume from its server, and remove it when ``delete``."""
        volume = self.volumes.get(ident)
        if volume is None:
            return
        if delete:
            del self.volumes[ident]
        else:
            volume.update(status="available", attachments=[])


class VolumeApi:
    """Answers cinder's calls for one cloud."""

    def __init__(self, state: VolumeState, settings: Settings, project_id: str) -> None:
        self._state = state
        self._settings = settings
        self._project_id = project_id

    @staticmethod
    def versions(root: str, status: int) -> Answer:
        """Answer the roots; ``root`` is the URL of v3."""
        version = {
            "id": "v3.0",
            "status": "CURRENT",
            "version": "3.70",
            "min_version": "3.0",
            "updated": "2022-08-31T00:00:00Z",
            "links": [{"rel": "self", "href": f"{root}/"}],
            "media-types": [{"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}],
        }
        return Answer(status, {"versions": [version]})

    def handle(self, call: Call) -> Answer:
        match call.method, call.path:
            case "GET", ["limits"]:
                return Answer(200, self._limits())
            case "GET", ["volumes"]:
                return self._list(call, ("id", "name"))
            case "GET", ["volumes", "detail"]:
                return self._list(call, None)
            case "POST", ["volumes"]:
                return self._create(call.document("volume"))
            case "GET", ["volumes", ident]:
                return Answer(200, {"volume": self._get(ident)})
            case "DELETE", ["volumes", ident]:
                if self._get(ident)["attachments"]:
                    raise nova_error(400, "Invalid volume: Volume status must be available or error.")
                del self._state.volumes[ident]
                return Answer(202)
            case "GET", ["os-quota-sets", project]:
                quota = {key: self._settings.quota[key] for key in ("volumes", "gigabytes")}
                return Answer(200, {"quota_set": {"id": project, "snapshots": 10, **quota}})
        raise nova_error(404, "The resource could not be found.")

    def _get(self, ident: str) -> dict[str, Any]:
        volume = self._state.volumes.get(ident)
        if volume is None:
            raise nova_error(404, f"Volume {ident} could not be found.")
        return volume

    def _create(self, fields: dict[str, Any]) -> Answer:
        size = int(fields.get("size") or 0)
        if size < 1:
            raise nova_error(400, "Invalid input received: Size must be an integer and greater than 0")
        refusal = self._state.refusal(size)
        if refusal is not None:
            raise nova_error(413, refusal, retryAfter="0")
        ident = self._state.create(size, name=str(fields.get("name") or ""))
        return Answer(202, {"volume": self._state.volumes[ident]})

    def _list(self, call: Call, keys: tuple[str, ...] | None) -> Answer:
        chosen = list(self._state.volumes.values())
        for key in ("name", "status"):
            wanted = call.first(key)
            if wanted is not None:
                chosen = [volume for volume in chosen if volume[key] == wanted]
        try:
            limit = parse_limit(call.first("limit"), self._settings.page_limit)
            page, more = cut(chosen, lambda volume: str(volume["id"]), limit, call.first("marker"))
        except BadPage as bad:
            raise nova_error(400, str(bad)) from None
        rows = page if keys is None else [{key: volume[key] for key in keys} for volume in page]
        body: dict[str, Any] = {"volumes": rows}
        if more:
            href = f"{call.root}/{'/'.join(call.path)}?limit={limit}&marker={page[-1]['id']}"
            body["volumes_links"] = [{"rel": "next", "href": href}]
        return Answer(200, body)

    def _limits(self) -> dict[str, Any]:
        quota = self._settings.quota
        return {
            "limits": {
                "rate": [],
                "absolute": {
                    "maxTotalVolumes": quota["volumes"],
                    "maxTotalVolumeGigabytes": quota["gigabytes"],
                    "maxTotalSnapshots": 10,
                    "maxTotalBackups": 10,
                    "maxTotalBackupGigabytes": 1000,
                    "totalVolumesUsed": len(self._state.volumes),
                    "totalGigabytesUsed": self._state.gigabytes,
                    "totalSnapshotsUsed": 0,
                    "totalBackupsUsed": 0,
                    "totalBackupGigabytesUsed": 0,
                },
            }
        }
