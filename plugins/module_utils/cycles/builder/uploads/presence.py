# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds uploads whose image is not in the cloud any more, because it was deleted in glance by hand, and names those
whose image is there and cannot be used, such as deactivated ones.

The images of each provider are listed at the start and every ten minutes. An image that a list does not show is read by
its id, twice with a pause: only an image that glance denies twice counts as lost. An error proves nothing. The
same list shows whether the images are there that a gate tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ....clients.openstack.cloud_client import CloudClient
from ....imaging.image_snapshot import ImagesView
from ....launching.resolver import upload_problem
from ....model.cloud import Image
from ....model.errors import CloudError
from ....model.image import Upload, UploadState
from ....model.lines import Line, Subject, Trouble
from .upload_workers import CHECK, UploadWorkers

EVERY = 600.0
"""Seconds between two lists of a provider's images."""
APART = 30.0
"""Seconds between the two reads of an image by its id."""
AFTER_ERROR = 60.0
PROVEN = EVERY + AFTER_ERROR
"""Seconds for which an image that was there counts as being there: no more is known of those that are ready."""


@dataclass
class _Provider:
    """The state of one provider.

    *next_at*: when glance is asked next. *doubted*, *lost*: path of an upload → its record at the time of the denial.
    *unusable*: path of an upload → why no server can be made of its image, as it was told.
    """

    next_at: float = 0.0
    doubted: dict[str, Upload] = field(default_factory=dict)
    lost: dict[str, Upload] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sighting:
    """What the latest list shows of an image under test. *asked_at*: when the list was asked for (UNIX seconds)."""

    asked_at: float
    usable: bool


@dataclass(frozen=True)
class Looked:
    """The answer of a cloud.

    *absent*: the uploads whose image glance does not know by its id; *there*: the others, with their images.
    *shown*: the images of the list, by id.
    """

    absent: list[Upload]
    there: list[tuple[Upload, Image]]
    shown: dict[str, Image] = field(default_factory=dict)


class Presence:
    """Checks the images of uploads. Used by the cycle's thread only; the threads of *workers* make the calls.

    :param client: returns the client of a provider; None if it cannot have one.
    """

    def __init__(
        self,
        workers: UploadWorkers,
        client: Callable[[str], CloudClient | None],
        clock: Callable[[], float],
        say: Callable[[str], None],
    ) -> None:
        self._workers = workers
        self._client = client
        self._clock = clock
        self._say = say
        self._providers: dict[str, _Provider] = {}
        self._sightings: dict[str, Sighting] = {}

    def sighting(self, upload: Upload) -> Sighting | None:
        """Return what is known of the image of an upload under test; None for nothing. Any thread may call it.

        It costs no call: the lists that are read for the ready uploads of its provider show it.
        """
        return self._sightings.get(upload.path)

    @property
    def lost(self) -> frozenset[str]:
        """Paths of uploads whose image is not in the cloud."""
        return frozenset(path for provider in self._providers.values() for path in provider.lost)

    @property
    def doubts(self) -> bool:
        """True while an image must be read a second time."""
        return any(provider.doubted for provider in self._providers.values())

    @property
    def times(self) -> list[float]:
        """The times of the next checks."""
        return [provider.next_at for provider in self._providers.values()]

    def step(self, view: ImagesView, concerns: Callable[[str, str], bool], now: float) -> None:
        """Begin the checks that are due.

        :param concerns: returns True if the options choose this image at this provider.
        """
        ready: dict[str, dict[str, Upload]] = {}
        tested: list[Upload] = []
        for state in view.images.values():
            for upload in state.uploads:
                if upload.state == UploadState.UPLOADING and upload.external_id:
                    tested.append(upload)
                usable = upload.state == UploadState.READY and upload.external_id
                if usable and upload.provider in view.config.providers and concerns(upload.image, upload.provider):
                    ready.setdefault(upload.provider, {})[upload.path] = upload
        paths = {upload.path for upload in tested}
        self._sightings = {path: seen for path, seen in self._sightings.items() if path in paths}
        for name in {*self._providers, *ready}:
            known, there = self._providers.setdefault(name, _Provider()), ready.get(name, {})
            known.doubted = _unchanged(known.doubted, there)
            known.lost = _unchanged(known.lost, there)
            key = ("", name)
            if not there or now < known.next_at or key in self._workers.keys:
                continue
            client = self._client(name)
            if client is not None:
                beside = [upload for upload in tested if upload.provider == name]
                asked = list(known.doubted.values()) or list(there.values())
                self._begin(name, known, client, asked, partial(self._note, beside, now))

    def _tell_unusable(self, name: str, known: _Provider, there: Iterable[tuple[Upload, Image]]) -> None:
        """Tell once that no server can be made of an image, and that it can be again."""
        for upload, image in there:
            before, problem = known.unusable.pop(upload.path, ""), upload_problem(image) or ""
            if problem:
                known.unusable[upload.path] = problem
            if problem != before:
                what = f"image {upload.image}: upload {upload.id} of build {upload.build_id}"
                text = f"its image {problem}" if problem else f"its image {upload.external_id} is usable again"
                about = Subject(provider=name, image=upload.image, build=upload.build_id, upload=upload.id)
                self._say((Trouble if problem else Line)(f"provider {name}: {what}: {text}", **about))

    def _begin(
        self,
        name: str,
        known: _Provider,
        client: CloudClient,
        uploads: Sequence[Upload],
        note: Callable[[Looked], None],
    ) -> None:
        listed = not known.doubted

        def take(outcome: Looked | Exception) -> None:
            if listed and isinstance(outcome, Looked):
                note(outcome)
            self._take(name, known, outcome, first=listed)

        self._workers.start(CHECK, ("", name), lambda: _tried(client, uploads, listed=listed), take)

    def _note(self, tested: Sequence[Upload], asked_at: float, looked: Looked) -> None:
        for upload in tested:
            usable = upload_problem(looked.shown.get(upload.external_id or "")) is None
            self._sightings[upload.path] = Sighting(asked_at, usable)

    def _take(self, name: str, known: _Provider, outcome: Looked | Exception, *, first: bool) -> None:
        now = self._clock()
        if not isinstance(outcome, Looked):
            known.doubted.clear()
            known.next_at = now + AFTER_ERROR
            if not isinstance(outcome, CloudError):
                self._say(Trouble(f"provider {name}: unexpected {type(outcome).__name__}: {outcome}", provider=name))
            return
        self._tell_unusable(name, known, outcome.there)
        found = {upload.path: upload for upload in outcome.absent}
        if first:
            known.doubted = {path: upload for path, upload in found.items() if path not in known.lost}
            for upload in known.doubted.values():
                what = f"image {upload.image}: upload {upload.id} of build {upload.build_id}"
                text = f"its image {upload.external_id} is not in the cloud; checking again in {APART:.0f} s"
                about = Subject(provider=name, image=upload.image, build=upload.build_id, upload=upload.id)
                self._say(Trouble(f"provider {name}: {what}: {text}", **about))
        else:
            known.lost.update(found)
            known.doubted = {}
        known.next_at = now + (APART if known.doubted else EVERY)


def look(client: CloudClient, uploads: Iterable[Upload], *, listed: bool) -> Looked:
    """Look for the images of the uploads.

    :param listed: read the list first and ask only for images that it does not show.
    :raises CloudError: a call failed, so the result is unknown.
    """
    shown = {image.id: image for image in client.list_own_images()} if listed else {}
    looked = Looked([], [], shown)
    for upload in uploads:
        if not upload.external_id:
            continue
        image = shown.get(upload.external_id) or client.images.get(upload.external_id)
        if image is None:
            looked.absent.append(upload)
        else:
            looked.there.append((upload, image))
    return looked


def _tried(client: CloudClient, uploads: Iterable[Upload], *, listed: bool) -> Looked | CloudError:
    """The same; returns what the cloud answered instead, because workers log what is raised as a defect."""
    try:
        return look(client, uploads, listed=listed)
    except CloudError as problem:
        return problem


def _unchanged(before: dict[str, Upload], now: dict[str, Upload]) -> dict[str, Upload]:
    return {path: upload for path, upload in before.items() if path in now and now[path].version == upload.version}
