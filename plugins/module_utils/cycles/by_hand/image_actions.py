# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions of an operator on images: build requests, pauses, the deletion of a build, clean-up. Nothing is built."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from ...clients.diskimage_builder.images_dir import ImagesDir
from ...clients.diskimage_builder.scratch import (
    leftovers,
)
from ...clients.zookeeper.store import Store
from ...imaging.due_builds import open_request
from ...imaging.retention import (
    DeleteBuild,
    DeleteFiles,
    abandoned_builds,
    plan_deletions,
)
from ...model.config.types import NodepoolConfig
from ...model.errors import (
    ConfigError,
    StoreConflict,
    StoreError,
)
from ...model.image import Build, BuildState
from ..builder.builds.clearing import (
    clear_machine,
    fail_abandoned,
    set_build_state,
)
from ..builder.context.builder_options import BuildOptions
from ..builder.context.image_files import check_files
from ..builder.context.observe_images import (
    image_state,
    look_at_images,
    provider_formats,
)
from ..frame.config_source import config_by_hand
from ..frame.config_warnings import config_warnings
from ..frame.tree_identity import site_of

_ROUNDS = 5


def set_flags(options: BuildOptions, *, request: bool, pause: bool | None, check: bool) -> dict[str, Any]:
    """Request builds, set or remove pause flags; nothing is built.

    :raises ConfigError: no image is named, or a build is requested of an image that the configuration pauses.
    """
    config = config_by_hand(options, check=check)
    names = options.images or ()
    what = "request" if request else "pause"
    problems = [] if names else [f"{what}: no image is named: set image_names"]
    if request:
        problems += [
            f"request: image {name} is paused in {config.path}: remove pause there"
            for name in names
            if config.diskimages[name].pause
        ]
    if problems:
        raise ConfigError(problems)
    changed: list[str] = []
    before: list[str] = []
    after: list[str] = []
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=not check)
        warnings = config_warnings(config, store)
        for name in names:
            asked = request and _request(store, name, config, check)
            turned = pause is not None and _pause(store, name, pause, check)
            if request and (store.images.is_paused(name) if pause is None else pause):
                warnings.append(f"image {name} is paused: the requested build waits until the pause ends")
            changed += [name] if asked or turned else []
            after += [f"image {name}: request a build"] if asked else []
            before += [_pause_line(name, not pause)] if turned else []
            after += [_pause_line(name, pause)] if turned else []
    return {
        "changed": bool(changed),
        "ended": "check" if check else "done",
        "images": changed,
        "diff": _diff(after, before),
        "warnings": warnings,
    }


def _request(store: Store, name: str, config: NodepoolConfig, check: bool) -> bool:
    """Request a build; return False if one is already requested."""
    if open_request(image_state(store, name, config.providers)) is not None:
        return False
    if not check:
        store.images.request_build(name)
    return True


def _pause(store: Store, name: str, pause: bool, check: bool) -> bool:
    """Set or remove the pause flag; return False if nothing has to change."""
    if store.images.is_paused(name) == pause:
        return False
    if not check:
        (store.images.pause if pause else store.images.unpause)(name)
    return True


def _pause_line(name: str, paused: bool | None) -> str:
    return f"image {name}: its builds are {'paused' if paused else 'not paused'}"


def _diff(after: list[str], before: list[str] | None = None) -> dict[str, str]:
    def text(lines: list[str]) -> str:
        return "".join(f"{line}\n" for line in lines)

    return {"before": text(before or []), "after": text(after), "after_header": "images"}


def clear_away(
    options: BuildOptions,
    *,
    check: bool,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Remove the remains of killed builds on this machine, and mark their records as failed."""
    config = config_by_hand(options, check=check)
    folder = ImagesDir(config.images_dir or "")
    formats, _problems = provider_formats(config, options.clouds_config)
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=not check)
        check_files(folder, store, site_of(store, create=not check), write=False)
        left = leftovers(folder.path)
        cleared = [] if check else clear_machine(store, folder.path, progress)
        view = look_at_images(store, config, folder, formats, time.time())
        abandoned = [build.id for build in abandoned_builds(view)]
        if not check:
            abandoned = fail_abandoned(store, view, view.now, progress)
        warnings = config_warnings(config, store)
    return {
        "changed": bool(left or cleared or abandoned),
        "ended": "check" if check else "done",
        "cleared": cleared,
        "abandoned": abandoned,
        "diff": _diff(
            [f"build {leftover.build_id}: remove what it left on this machine" for leftover in left]
            + [f"build {build_id}: mark as failed; no builder is working on it" for build_id in abandoned]
        ),
        "warnings": warnings,
    }


def delete_build(
    options: BuildOptions, build_id: str, *, check: bool, clock: Callable[[], float] = time.time
) -> dict[str, Any]:
    """Mark a build for deletion, and remove what can be removed at once.

    If it has uploads, the uploads cycle deletes these in the clouds, then the files, then the record. Without uploads,
    this function removes the files on this machine and the record.

    :raises StoreConflict: the build is being made.
    """
    config = config_by_hand(options, check=check)
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=not check)
        image, _dash, build_id = build_id.rpartition("-")  # "nodepool dib-image-list" shows IMAGE-ID
        build = _find(store, build_id, (image,) if image else options.images)
        result: dict[str, Any] = {"build_id": build_id, "image": build.image if build else None}
        lines = []
        if build is not None:
            if build.state == BuildState.BUILDING:
                raise StoreConflict(
                    f"build {build_id} of {build.image} is in progress: stop its builder, or wait until it is ready"
                )
            marked = build.state != BuildState.DELETING
            lines = [f"build {build_id} of {build.image}: mark for deletion"] if marked else []
            left = sum(upload.build_id == build_id for upload in store.images.uploads(build.image))
            lines += [f"uploads of {build_id}: {left} to be deleted by the upload cycle"] if left else []
            if not check:
                if marked:
                    _mark(store, build, clock())
                lines += _remove_what_can_go(store, config, options, build_id, clock)
        result |= {"changed": bool(lines), "ended": "check" if check else "done", "diff": _diff(lines)}
        result["state"] = _state_of(store, build) if not check else (build.state if build else "absent")
        result["warnings"] = config_warnings(config, store)
        return result


def _state_of(store: Store, build: Build | None) -> str:
    left = store.images.build(build.image, build.id) if build else None
    return left.state if left else "absent"


def _find(store: Store, build_id: str, images: tuple[str, ...] | None) -> Build | None:
    for image in images or store.images.names():
        build = store.images.build(image, build_id)
        if build is not None:
            return build
    return None


def _mark(store: Store, build: Build, now: float) -> None:
    def may(fresh: Build) -> bool:
        if fresh.state == BuildState.BUILDING:
            raise StoreConflict(f"build {build.id} of {build.image} is in progress: try again when it is ready")
        return True

    if set_build_state(store, build, BuildState.DELETING, now, may) is None:
        raise StoreError(f"build {build.id} of {build.image} is being changed by another client: try again")


def _remove_what_can_go(
    store: Store, config: NodepoolConfig, options: BuildOptions, build_id: str, clock: Callable[[], float]
) -> list[str]:
    """Remove the files and the record of a build without uploads; return sentences about that."""
    lines = []
    folder = ImagesDir(config.images_dir or "")
    formats, _problems = provider_formats(config, options.clouds_config)
    for _round in range(_ROUNDS):
        view = look_at_images(store, config, folder, formats, clock())
        plan = [
            action
            for action in plan_deletions(view)
            if isinstance(action, DeleteFiles | DeleteBuild) and action.build_id == build_id
        ]
        if not plan:
            break
        for action in plan:
            if isinstance(action, DeleteFiles):
                problems = folder.remove(action.names)
                lines += problems or [f"files {', '.join(action.names)}: removed"]
                if problems:
                    return lines
            else:
                store.images.delete_build(action.image, action.build_id)
                lines.append(f"build {build_id}: its record is removed")
    return lines
