# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Export and import of the records of disk images in ZooKeeper, in the format of Nodepool's own command; export in the
form of Zuul's."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

from ...clients.private_file import is_private, write_private
from ...clients.text_file import read_text
from ...clients.zookeeper.link import paths
from ...clients.zookeeper.store import Store
from ...imaging.image_data_format import (
    counts,
    highest_uploads,
    image_data,
    read_image_data,
    records,
)
from ...imaging.zuul_image_data import UPLOADS, read_zuul_image_data, zuul_counts, zuul_image_data
from ...model.config.types import NodepoolConfig
from ...model.errors import ConfigError, StoreError
from ...model.lines import amount
from ...model.zuul.zuul_names import ZuulProject
from ..frame.config_source import config_by_hand
from ..frame.config_warnings import config_warnings
from ..frame.cycle_options import ConfigOptions

LARGEST_EXPORT = 512 * 1024 * 1024
"""Maximum size of a file in bytes; an upload takes about 350."""
_SHOWN = 5
_ROOTS = (paths.IMAGES, paths.COMPONENTS)


def export_images(options: ConfigOptions, path: str, *, force: bool, check: bool) -> dict[str, Any]:
    """Write all builds, uploads and pause flags to the file *path*.

    :param force: write the file even if ZooKeeper has no record and the file has some.
    :raises ConfigError: the file cannot be written.
    :raises StoreError: ZooKeeper has no record, but the file has some.
    """
    config = config_by_hand(options, check=check)
    data, left_out, warnings = _stored(config)
    before = _content(path)
    if before and not data and not force:
        raise StoreError(
            f"ZooKeeper has no image, but {path} has {amount(len(before), 'record')}: nothing is changed. Check"
            f" zookeeper-servers and its chroot; then import the file, or set force to replace it"
        )
    changed = before != data or not is_private(path)
    if changed and not check:
        write_private(path, json.dumps(data))
    return _result(warnings, counts(data), changed, before or {}, data, path, left_out)


def export_for_zuul(
    options: ConfigOptions, path: str, project: ZuulProject, *, force: bool, check: bool
) -> dict[str, Any]:
    """Write all ready uploads to the file *path*, as Zuul's own command imports them.

    :param project: where Zuul reads the definitions of these images and providers.
    :param force: write the file even if no upload is ready and the file has some.
    :raises ConfigError: the file cannot be written.
    :raises StoreError: no upload is ready, but the file has some.
    """
    config = config_by_hand(options, check=check)
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=False)
        data, left_out = image_data(store.raw_images.read())
        warnings = config_warnings(config, store)
        verdicts = {name: store.verdicts.of_image(name) for name in store.images.names()}
    document, unknown = zuul_image_data(data, config, project, verdicts, now=time.time())
    before = _zuul_content(path) or {}
    if any(before.values()) and not any(document.values()) and not force:
        raise StoreError(
            f"no upload is ready for Zuul, but {path} has {amount(len(before[UPLOADS]), 'upload')}: nothing is changed."
            f" Check zookeeper-servers and its chroot; set force to replace the file"
        )
    changed = before != document or not is_private(path)
    if changed and not check:
        write_private(path, json.dumps(document))
    was, will = _by_id(before), _by_id(document)
    return _result(warnings, zuul_counts(document), changed, was, will, path, [*left_out, *unknown])


def _by_id(document: Mapping[str, list[dict[str, Any]]]) -> dict[str, str]:
    return {str(one["uuid"]): json.dumps(one) for part in document.values() for one in part if "uuid" in one}


def _stored(config: NodepoolConfig) -> tuple[dict[str, str], list[str], list[str]]:
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=False)
        return *image_data(store.raw_images.read()), config_warnings(config, store)


def _content(path: str) -> dict[str, str] | None:
    """Return the current content of the file; None if it cannot be imported."""
    if not os.path.exists(path):
        return None
    try:
        return read_image_data(read_text(path, time.sleep, LARGEST_EXPORT), path)
    except ConfigError:
        return None


def _zuul_content(path: str) -> dict[str, list[dict[str, Any]]] | None:
    """Return the current content of the file; None if it is not of Zuul's form."""
    if not os.path.exists(path):
        return None
    try:
        return read_zuul_image_data(read_text(path, time.sleep, LARGEST_EXPORT))
    except ConfigError:
        return None


def import_images(options: ConfigOptions, path: str, *, force: bool, check: bool) -> dict[str, Any]:
    """Store the records of the file *path*. Records that are not in the file stay as they are.

    :param force: store also while a builder is at work, or if ZooKeeper has other records.
    :raises ConfigError: the file is not an export.
    :raises StoreError: a builder is at work, or ZooKeeper has other records.
    """
    config = config_by_hand(options, check=check)
    data = read_image_data(read_text(path, time.sleep, LARGEST_EXPORT), path)
    with closing(Store(config.zookeeper)) as store:
        # A watch would tell of each of our own writes.
        store.open(watch=False, mutable=not check, roots=_ROOTS, locks=())
        there, _left_out = image_data(store.raw_images.read())
        warnings = config_warnings(config, store)
        missing = {name: value for name, value in data.items() if there.get(name) != value}
        if missing and not force:
            _refuse(store, path, data, there)
        if not check:
            written = {name: value.encode("utf-8") for name, value in missing.items()}
            store.raw_images.put_all(written, highest_uploads(missing))
    before = {name: there[name] for name in missing if name in there}
    return _result(warnings, counts(data), bool(missing), before, missing, "ZooKeeper", [])


def _refuse(store: Store, path: str, data: Mapping[str, str], there: Mapping[str, str]) -> None:
    """Refuse an import that is not safe.

    :raises StoreError: a builder is at work, or ZooKeeper has other records.
    """
    remedy = "force imports anyway"
    working = store.raw_images.builders() or store.raw_images.locks()
    if working:
        raise StoreError(f"a builder is running: {_listed(working)}. Stop all builders first; {remedy}")
    other = sorted(name for name in records(there) if data.get(name) != there[name])
    if other:
        raise StoreError(
            f"ZooKeeper has records that {path} lacks or that differ from it: {_listed(other)}. An import is for a tree"
            f" without images; {remedy}, replaces records that differ, and keeps those that the file lacks"
        )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _result(
    warnings: Iterable[str],
    counted: Mapping[str, int],
    changed: bool,
    before: Mapping[str, str],
    after: Mapping[str, str],
    where: str,
    left_out: list[str],
) -> dict[str, Any]:
    def text(known: Mapping[str, str]) -> str:
        return "".join(f"{path}: {value}\n" for path, value in known.items())

    return {
        "changed": changed,
        "counts": dict(counted),
        "left_out": left_out,
        "diff": {"before": text(before), "after": text(after), "before_header": where, "after_header": where},
        "warnings": [*warnings, *left_out],
    }
