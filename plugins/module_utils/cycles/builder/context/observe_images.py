# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that builds, uploads and reports share: they read the state of all images."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterable, Mapping, Sequence

from ....clients.diskimage_builder.images_dir import ImagesDir
from ....clients.diskimage_builder.scratch import claimed
from ....clients.zookeeper.components import Registration
from ....clients.zookeeper.link import paths
from ....clients.zookeeper.store import Store
from ....imaging.absence import Absence, absence_path
from ....imaging.files import recognise
from ....imaging.image_snapshot import (
    ImageState,
    ImagesView,
    LocalFile,
)
from ....imaging.listed import Listed, OtherBuilders
from ....imaging.notes import (
    BuilderNote,
    BuildNotes,
    Failures,
    build_notes_path,
    builder_note_path,
    former_builders,
    upload_notes_path,
)
from ....imaging.stranded import missed, returned
from ....model.component import ComponentKind, ComponentState
from ....model.config.types import NodepoolConfig
from ....model.documents import text
from ....model.errors import CloudAuthError
from ....model.own_tree import ABSENT_BUILDERS, BUILD_NOTES, BUILDER_NOTES, GATES, LIVE_BUILDERS, UPLOAD_NOTES, VERDICTS
from .builder_identity import live_builders

VERSION = "stackci.nodepool"
_FOLDERS = (BUILD_NOTES, UPLOAD_NOTES, BUILDER_NOTES, LIVE_BUILDERS, ABSENT_BUILDERS, VERDICTS, GATES)
ROOTS = (paths.IMAGES, paths.COMPONENTS, *map(paths.own, _FOLDERS))
"""The paths that :func:`view_images` reads. Nodes and requests, of which there are many, are not needed for images."""


def local_files(directory: ImagesDir) -> list[LocalFile]:
    """Return the files of builds in images-dir. Call it before ZooKeeper is read: a record is written before its files.

    :raises ImageFileError: the directory cannot be read.
    """
    found = (
        recognise(entry.name, is_directory=entry.is_directory, size=entry.size, modified=entry.modified)
        for entry in directory.entries()
    )
    return [file for file in found if file is not None]


def provider_formats(config: NodepoolConfig, clouds_config: str | None) -> tuple[dict[str, str], dict[str, str]]:
    """Return the image format of each provider that lists images, and why the formats of others are unknown."""
    formats: dict[str, str] = {}
    problems: dict[str, str] = {}
    listing = [provider for provider in config.providers.values() if provider.diskimages]
    if not listing:
        return formats, problems
    from ....clients.openstack.clouds import load_cloud_entry  # loads openstacksdk

    for provider in listing:
        try:
            entry = load_cloud_entry(provider.name, provider.cloud, provider.region_name, clouds_config)
        except CloudAuthError as problem:
            problems[provider.name] = str(problem)
        else:
            formats[provider.name] = entry.image_format
    return formats, problems


def view_images(
    store: Store,
    config: NodepoolConfig,
    *,
    now: float,
    provider_formats: Mapping[str, str],
    files: Sequence[LocalFile] | None = None,
    builder_id: str = "",
    building: Iterable[str] = (),
    uploading: Iterable[tuple[str, str]] = (),
    lost: frozenset[str] = frozenset(),
) -> ImagesView:
    """Return the state of all images by the cache; see :class:`ImagesView` for the parameters."""
    names = sorted({*store.images.names(), *config.diskimages})
    former = former_ids(store, config, builder_id, now)
    return ImagesView(
        now=now,
        config=config,
        images={name: image_state(store, name, config.providers) for name in names},
        provider_formats=dict(provider_formats),
        files=None if files is None else tuple(files),
        builder_id=builder_id,
        former=former,
        building=frozenset(building),
        uploading=frozenset(uploading),
        lost=lost,
        others=other_builders(store, {builder_id, *former}, now),
        absent=_absent(store),
    )


def note_absences(store: Store, view: ImagesView) -> None:
    """Store which builders are missed, and forget those that are back.

    :raises StoreError: a write failed.
    """
    for builder_id in missed(view):
        store.own.put(absence_path(builder_id), Absence(builder_id, view.now).document())
    for builder_id in returned(view):
        store.own.delete(absence_path(builder_id))


def _absent(store: Store) -> dict[str, float]:
    names = store.own.children(ABSENT_BUILDERS)
    found = (Absence.from_document(store.own.get(f"{ABSENT_BUILDERS}/{name}")) for name in names)
    return {absence.builder_id: absence.since for absence in found if absence is not None}


def other_builders(store: Store, own_ids: Collection[str], now: float) -> OtherBuilders:
    """Return the other builders of the tree from the cache.

    :param own_ids: the present and former ids of this builder.
    """
    found = [(note.builder_id, note.listed) for note in _builder_notes(store) if note.lists_still(now)]
    live = [(text(one.get("builder_id")) or "", Listed.from_document(one)) for one in live_builders(store).values()]
    found += live
    listed = [each for builder_id, each in found if builder_id not in own_ids]
    silent = {host.partition(".")[0] for host, version in store.components.builders() if version != VERSION}
    alive = frozenset(builder_id for builder_id, _listed in live)
    return OtherBuilders(tuple(dict.fromkeys(listed)), frozenset(silent - {""}), alive)


def image_state(store: Store, name: str, providers: Iterable[str]) -> ImageState:
    """Return the state of an image from the cache, with the failures of uploads to *providers*."""
    images = store.images
    empty, unreadable = images.without_document(name)
    # Read the locks before and after the records: a builder takes the lock before it creates the record, and writes the
    # record before it releases the lock. A build or upload under way must not look abandoned in between.
    locked, uploading = images.is_build_locked(name), images.uploading(name)
    builds, uploads = images.builds(name), images.uploads(name)
    locked = locked or images.is_build_locked(name)
    uploading |= images.uploading(name)
    return ImageState(
        name=name,
        builds=tuple(builds),
        uploads=tuple(uploads),
        requested=images.requested(name),
        requested_at=images.requested_at(name),
        paused=images.paused(name),
        locked=locked,
        uploading=frozenset(uploading),
        empty=frozenset(empty),
        unreadable=frozenset(unreadable),
        notes=BuildNotes.from_document(store.own.get(build_notes_path(name))),
        upload_failures={
            provider: Failures.from_document(document)
            for provider in providers
            if (document := store.own.get(upload_notes_path(provider, name))) is not None
        },
        verdicts=store.verdicts.of_image(name),
        gates={provider: found for provider in providers if (found := store.gates.get(provider, name)) is not None},
    )


def note_builder(store: Store, config: NodepoolConfig, builder_id: str, now: float) -> None:
    """Store where this builder keeps its files, so that it can be identified if it loses the files and its id.

    :raises StoreError: the write failed.
    """
    made_by = {build.builder_id for name in store.images.names() for build in store.images.builds(name)}
    for former in former_ids(store, config, builder_id, now) - made_by:
        store.own.delete(builder_note_path(former))
    path = builder_note_path(builder_id)
    before = BuilderNote.from_document(store.own.get(path))
    since = before.since if before is not None else now
    note = BuilderNote(builder_id, socket.gethostname(), _place(config), since, now, Listed.of(config))
    store.own.put(path, note.document())


def former_ids(store: Store, config: NodepoolConfig, builder_id: str, now: float) -> frozenset[str]:
    """Return the former ids of this builder, which it has lost, from the cache."""
    if not config.images_dir:
        return frozenset()
    return former_builders(_builder_notes(store), builder_id, socket.gethostname(), _place(config), now)


def _builder_notes(store: Store) -> list[BuilderNote]:
    names = store.own.children(BUILDER_NOTES)
    found = (BuilderNote.from_document(store.own.get(f"{BUILDER_NOTES}/{name}")) for name in names)
    return [note for note in found if note is not None]


def _place(config: NodepoolConfig) -> str:
    return os.path.abspath(config.images_dir or "")


def register_builder(store: Store) -> Registration:
    """Register a builder in Nodepool's registry, once for each cycle. The registration ends with the session."""
    fields = {"state": ComponentState.RUNNING, "version": VERSION}
    return store.components.register(ComponentKind.BUILDER, socket.gethostname(), fields)


def look_at_images(
    store: Store, config: NodepoolConfig, folder: ImagesDir, formats: Mapping[str, str], now: float
) -> ImagesView:
    """Return the state of all images outside of a builds cycle; write nothing. Claims show this builder's builds.

    :param folder: images-dir.
    :param formats: provider → image format.
    """
    return view_images(
        store,
        config,
        now=now,
        provider_formats=formats,
        files=local_files(folder),
        builder_id=folder.builder_id(create=False),
        building=claimed(folder.path),
    )
