# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Uploads in the form that ``zuul-admin import-images`` of Zuul 14.3 reads. No I/O.

The file is a JSON object with two lists: *artifacts* (a build in one format) and *uploads* (an artifact in one cloud).
Their keys are those of ``ImageBuildArtifact.toDict`` and ``ImageUpload.toDict`` in ``zuul/model.py``. Ids are derived
from builds and uploads: a second import of the same upload finds it there and changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..clients.zookeeper.link import paths
from ..model.build_verdict import NONE, BuildVerdict
from ..model.config.types import NodepoolConfig, Provider
from ..model.image import Build, Upload, UploadState
from ..model.zuul.zuul_names import ZuulProject, require_different_names, zuul_endpoint, zuul_providers
from .image_data_format import Place

ARTIFACTS, UPLOADS = "artifacts", "uploads"
Verdicts = Mapping[str, Mapping[str, BuildVerdict]]
"""Image → build id → what is decided about the build."""
READY = "ready"
"""Zuul's state of artifacts and uploads that can be used."""


def zuul_image_data(
    data: Mapping[str, str],
    config: NodepoolConfig,
    project: ZuulProject,
    verdicts: Verdicts | None = None,
    *,
    now: float = 0.0,
) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the file's content, and a sentence about each ready upload that cannot be part of it.

    :param data: path → document, as :func:`.image_data_format.image_data` returns them.
    :param now: UNIX seconds: Zuul gets no build that must not be used then.
    :raises ConfigError: two pools would have the same name in Zuul.
    """
    require_different_names(config.providers.values())
    artifacts: dict[str, dict[str, Any]] = {}
    uploads: list[dict[str, Any]] = []
    left_out: list[str] = []
    for path, place, upload in _ready(data):
        provider = config.providers.get(place.provider or "")
        verdict = (verdicts or {}).get(place.image, {}).get(place.build or "", NONE)
        problem = _problem(upload, provider) or _verdict_problem(verdict, place.provider or "", now)
        if provider is None or problem:
            left_out.append(f"{path} is skipped: {problem}")
            continue
        build = Build.from_bytes(place.build or "", data[paths.build(place.image, place.build or "")].encode())
        artifact = _artifact(place, build, _format(upload, build), project)
        artifacts[artifact["uuid"]] = artifact
        uploads.append(_upload(place, upload, artifact, provider, project))
    return {ARTIFACTS: list(artifacts.values()), UPLOADS: uploads}, left_out


def zuul_counts(document: Mapping[str, list[dict[str, Any]]]) -> dict[str, int]:
    """Count the images, builds (of any number of formats) and uploads; Zuul's form has no paused images."""
    return {
        "images": len({one["canonical_name"] for one in document[ARTIFACTS]}),
        "builds": len({one["build_uuid"] for one in document[ARTIFACTS]}),
        "uploads": len(document[UPLOADS]),
        "paused": 0,
    }


def read_zuul_image_data(text: str) -> dict[str, list[dict[str, Any]]] | None:
    """Parse a file of this form; None if it has another one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.keys() != {ARTIFACTS, UPLOADS}:
        return None
    sound = all(isinstance(part, list) and all(isinstance(one, dict) for one in part) for part in document.values())
    return document if sound else None


def _ready(data: Mapping[str, str]) -> Iterator[tuple[str, Place, Upload]]:
    for path, text in sorted(data.items()):
        place = Place.of(path)
        if place is not None and place.upload is not None:
            upload = Upload.from_bytes(place.upload, text.encode())
            if upload is not None and upload.state == UploadState.READY:
                yield path, place, upload


def _problem(upload: Upload, provider: Provider | None) -> str:
    """Return why an upload cannot be exported; "" if it can."""
    if not upload.external_id:
        return "it has no external_id"
    if provider is None:
        return "nodepool.yaml has no such provider of the driver openstack"
    return "" if provider.pools else "its provider has no pool, so that Zuul gets no provider for it"


def _verdict_problem(verdict: BuildVerdict, provider: str, now: float) -> str:
    """Return why Zuul must not launch from a build; "" if it may. An import never takes anything away from Zuul."""
    if verdict.is_used(now, provider):
        return ""
    return f"its build is {verdict.text(now, provider)}. If Zuul has it already, delete the upload in Zuul, too"


def _format(upload: Upload, build: Build | None) -> str:
    """Return the format of the upload; that of the build if the record has none, as records of old builders do."""
    return upload.format or (build.formats[0] if build is not None and build.formats else "qcow2")


def _artifact(place: Place, build: Build | None, image_format: str, project: ZuulProject) -> dict[str, Any]:
    """Return an artifact. It has no URL and no checksums: Zuul must not upload it anywhere itself."""
    built = build.state_time if build is not None else None
    return {
        "uuid": _ident(project.project, place.image, place.build or "", image_format),
        "name": place.image,
        "canonical_name": project.canonical(place.image),
        "project_canonical_name": project.project,
        "project_branch": project.branch,
        "build_tenant_name": project.tenant,
        "build_uuid": place.build,
        "format": image_format,
        "md5sum": None,
        "sha256": None,
        "url": None,
        "timestamp": built or 0.0,
        "validated": True,
        "_state": READY,
        "state_time": built or 0.0,
    }


def _upload(
    place: Place, upload: Upload, artifact: Mapping[str, Any], provider: Provider, project: ZuulProject
) -> dict[str, Any]:
    """Return an upload. Its time is that of its build: Zuul uses the newest, whenever that was uploaded."""
    return {
        "uuid": _ident(artifact["uuid"], provider.name, place.upload or ""),
        "canonical_name": artifact["canonical_name"],
        "artifact_uuid": artifact["uuid"],
        "build_uuid": None,
        "endpoint_name": zuul_endpoint(provider),
        "providers": [project.canonical(name) for name in zuul_providers(provider)],
        "config_hash": None,
        "external_id": upload.external_id,
        "timestamp": artifact["timestamp"] or upload.state_time or 0.0,
        "validated": True,
        "attempt": 0,
        "_state": READY,
        "state_time": upload.state_time or 0.0,
    }


def _ident(*parts: str) -> str:
    """Return an id of the form of a uuid in hex."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
