# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of names and references in the configuration, on plain data, before the configuration is built.

They work on any data, including data that violates the schema. A section of a wrong type is skipped, so that one
mistake gives one message.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
import string
from collections.abc import Collection, Iterator
from typing import Any

from .drivers import OTHER_DRIVERS, OURS, other_driver
from .inheritance import (
    cycle_from,
    ineffective_keys,
)
from .messages import suggestion
from .problems import Path, Problem, shown

FORMATS = frozenset(
    (
        "aci",
        "docker",
        "parallels",
        "qcow",
        "qcow2",
        "qed",
        "raw",
        "squashfs",
        "tar",
        "tgz",
        "vdi",
        "vhd",
        "vhdx",
        "vmdk",
        "vpc",
    )
)
"""What disk-image-create makes itself (``-t``), and what it has qemu-img make of a raw image."""
FOLDERS = ("images-dir", "elements-dir", "build-log-dir")
IMAGE_NAME_FIELDS = ("image_name", "upload_id", "timestamp")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
LAST_WINS = "and the last one is used, as in Nodepool: rename or remove one"
BOTH_COUNT = "and they are merged, the last one wins, as in Nodepool: write one entry"


def check(main: Any, *, zookeeper_elsewhere: bool = False, part: bool = False) -> list[Problem]:
    """Return the problems of nodepool.yaml that a schema cannot express: names, references and others.

    :param main: data of nodepool.yaml.
    :param zookeeper_elsewhere: secure.conf names the ZooKeeper servers, or may do so.
    :param part: secure.conf was not given: without servers there is a warning only.
    """
    images = Images(main)
    return [
        *_zookeeper(main, zookeeper_elsewhere, part),
        *_folders(main),
        *_unique(main, ("labels",)),
        *_unique(main, ("diskimages",)),
        *_unique(main, ("providers",)),
        *_unique(main, ("tenant-resource-limits",), "tenant-name"),
        *_diskimages(main, images),
        *_providers(main, images),
    ]


def check_secure(secure: Any, main: Any) -> list[Problem]:
    """Return the problems of secure.conf that a schema cannot express, some of which need nodepool.yaml."""
    images = Images(main)
    problems = [*_unique(secure, ("diskimages",), rule=BOTH_COUNT), *_servers(secure), *_account(secure)]
    for index, item in _items(secure, "diskimages"):
        name = _name(item)
        if name in images.abstract:
            problems.append(
                Problem(
                    ("diskimages", index, "name"),
                    "names an abstract diskimage, which cannot have env-vars here: name the images that inherit"
                    " from it",
                )
            )
        elif name is not None and images.known is not None and name not in images.known:
            problems.append(
                Problem(
                    ("diskimages", index, "name"),
                    "names a diskimage that nodepool.yaml does not define: correct the name, or define it there",
                )
            )
    return problems


class Images:
    """The diskimages of nodepool.yaml by name. *known* is None when the section has a wrong type."""

    def __init__(self, main: Any) -> None:
        self.items = {name: item for _unused, item in _items(main, "diskimages") if (name := _name(item)) is not None}
        self.abstract = {name for name, item in self.items.items() if item.get("abstract") is True}
        self.known = set(self.items) - self.abstract if _is_list(main, "diskimages") else None


def _is_list(section: Any, key: str) -> bool:
    return isinstance(section, dict) and (section.get(key) is None or isinstance(section[key], list))


def _items(section: Any, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the mappings in the list *key* of *section* with their indices."""
    values = section.get(key) if isinstance(section, dict) else None
    for index, item in enumerate(values if isinstance(values, list) else []):
        if isinstance(item, dict):
            yield index, item


def _name(item: dict[str, Any], key: str = "name") -> str | None:
    name = item.get(key)
    return name if isinstance(name, str) and name else None


def _names(section: Any, key: str) -> set[str] | None:
    """Return the names in the list *key* of *section*; None when it is not a list."""
    if not _is_list(section, key):
        return None
    return {name for _unused, item in _items(section, key) if (name := _name(item)) is not None}


def _undefined(
    path: Path, kind: str, name: str, known: Collection[str], where: str = "at the top of the file"
) -> Problem:
    hint = suggestion(name, known)
    return Problem(path, f"names the {kind} {shown(name)!r}, which is not defined {where}: {hint or 'define it there'}")


def _unique(section: Any, prefix: Path, key: str = "name", rule: str = LAST_WINS) -> Iterator[Problem]:
    """Yield a problem for each name that appears twice in a list.

    :param prefix: path of the list; it ends with the key of the list in *section*.
    :param rule: how Nodepool treats a second entry, for the message.
    """
    seen: dict[str, int] = {}
    for index, item in _items(section, str(prefix[-1])):
        name = _name(item, key)
        if name is None:
            continue
        if name in seen:
            yield Problem(
                (*prefix, index, key), f"is also the name of entry number {seen[name] + 1}, {rule}", "lenient"
            )
        seen.setdefault(name, index)


def _zookeeper(main: Any, elsewhere: bool, part: bool) -> Iterator[Problem]:
    if isinstance(main, dict) and main.get("zookeeper-servers") is None and not elsewhere:
        severity = "warning" if part else "error"
        yield Problem((), "lacks the key zookeeper-servers: add it here or in secure.conf", severity)
    if isinstance(main, dict) and "zookeeper-auth" in main:
        sentence = "has a password, which Nodepool does not expect here: move it to secure.conf"
        yield Problem(("zookeeper-auth",), sentence)
    yield from _servers(main)


def _account(secure: Any) -> Iterator[Problem]:
    auth = secure.get("zookeeper-auth") if isinstance(secure, dict) else None
    if isinstance(auth, dict) and auth.get("scheme") == "sasl" and auth.get("former-password"):
        sentence = "is for the scheme digest: in ZooKeeper an account of the scheme sasl has one password; remove it"
        yield Problem(("zookeeper-auth", "former-password"), sentence)


def _folders(main: Any) -> Iterator[Problem]:
    """Return a warning for each relative path: a cycle works in the folder of its playbook, or in one of its own."""
    for key in FOLDERS:
        value = main.get(key) if isinstance(main, dict) else None
        parts = value.split(":") if isinstance(value, str) and key == "elements-dir" else [value]
        astray = [part for part in parts if isinstance(part, str) and part and not part.startswith("/")]
        if astray:
            sentence = (
                f"has the relative path {shown(astray[0])}, but a cycle has no fixed working directory: write"
                f" an absolute path"
            )
            yield Problem((key,), sentence, "warning")


def _servers(section: Any) -> Iterator[Problem]:
    chroots: set[str] = set()
    for index, item in _items(section, "zookeeper-servers"):
        host, chroot = item.get("host"), item.get("chroot")
        if isinstance(host, str) and host and not _is_host(host):
            yield Problem(
                ("zookeeper-servers", index, "host"),
                "is neither a host name nor an address: write the name alone, and the port in the key port",
            )
        names = list(filter(None, chroot.split("/"))) if isinstance(chroot, str) else []
        if {".", ".."} & {*names} or _CONTROL.search("".join(names)):
            yield Problem(
                ("zookeeper-servers", index, "chroot"),
                "cannot be a path in ZooKeeper: leave out the names . and .. and control characters",
            )
        if names:
            chroots.add("/".join(names))
    if len(chroots) > 1:
        yield Problem(("zookeeper-servers",), "has different chroots, but an ensemble has one: give it once")


def _is_host(host: str) -> bool:
    if ":" in host or "[" in host:
        try:
            ipaddress.IPv6Address(host.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return host.startswith("[") == host.endswith("]")
    return not any(character.isspace() or character in ",/" for character in host)


def _diskimages(main: Any, images: Images) -> Iterator[Problem]:
    for index, item in _items(main, "diskimages"):
        path: Path = ("diskimages", index)
        parent = _name(item, "parent")
        if parent is not None and parent not in images.items:
            yield _undefined((*path, "parent"), "diskimage", parent, images.items, "in diskimages")
        elif ring := cycle_from(item, images.items):
            way = " → ".join(map(shown, ring))
            yield Problem((*path, "parent"), f"inherits from itself ({way}): remove one parent")
        else:
            for key, ancestor in ineffective_keys(item, images.items):
                yield Problem(
                    (*path, key),
                    f"cannot disable what the parent {shown(ancestor)} enables, as in Nodepool: set it in the"
                    f" images that need it and not in the parent",
                    "warning",
                )
        if isinstance(item.get("release"), float):
            yield Problem((*path, "release"), f"is read as the number {item['release']}: put it in quotes", "warning")
        yield from _formats(item, path)
        yield from _command(item, path)


def _formats(item: dict[str, Any], path: Path) -> Iterator[Problem]:
    for key in ("formats", "keep-formats"):
        names = item.get(key)
        for index, name in enumerate(names if isinstance(names, list) else ()):
            if isinstance(name, str) and name not in FORMATS:
                sentence = (
                    f"names {shown(name)}, which diskimage-builder does not produce: use one of"
                    f" {', '.join(sorted(FORMATS))}"
                )
                yield Problem((*path, key, index), sentence, "warning")


def _command(item: dict[str, Any], path: Path) -> Iterator[Problem]:
    command = item.get("dib-cmd")
    if isinstance(command, str):
        try:
            shlex.split(command)
        except ValueError:
            yield Problem((*path, "dib-cmd"), "has a quote that is not closed: close it")


def _providers(main: Any, images: Images) -> Iterator[Problem]:
    labels = _names(main, "labels")
    for index, provider in _items(main, "providers"):
        path: Path = ("providers", index)
        driver = provider.get("driver")
        if isinstance(driver, str) and driver in OTHER_DRIVERS:
            yield Problem(
                path,
                other_driver(driver),
                "lenient",
            )
            continue
        if driver is not None and driver != OURS:
            continue  # the schema reports the driver; the meaning of its keys is unknown
        yield from _image_name_format(provider, path)
        yield from _provider_images(provider, path, images)
        yield from _unique(provider, (*path, "pools"))
        for number, pool in _items(provider, "pools"):
            yield from _pool(pool, (*path, "pools", number), labels, provider, images)


def _image_name_format(provider: dict[str, Any], path: Path) -> Iterator[Problem]:
    pattern = provider.get("image-name-format")
    if not isinstance(pattern, str):
        return
    try:
        fields = {name for _text, name, _spec, _conversion in string.Formatter().parse(pattern) if name is not None}
    except ValueError:
        yield Problem((*path, "image-name-format"), "has an unmatched brace: close it, or double it")
        return
    for name in sorted(fields - set(IMAGE_NAME_FIELDS)):
        yield Problem(
            (*path, "image-name-format"), f"uses {{{shown(name)}}}; there are {', '.join(IMAGE_NAME_FIELDS)}: use these"
        )


def _provider_images(provider: dict[str, Any], path: Path, images: Images) -> Iterator[Problem]:
    yield from _unique(provider, (*path, "diskimages"))
    yield from _unique(provider, (*path, "cloud-images"))
    for number, item in _items(provider, "diskimages"):
        name = _name(item)
        if name is None or images.known is None:
            continue
        place = (*path, "diskimages", number, "name")
        if name in images.abstract:
            yield Problem(place, "is an abstract diskimage, which is never built: name one that is not abstract")
        elif name not in images.known:
            yield _undefined(place, "diskimage", name, images.known)


def _pool(
    pool: dict[str, Any], path: Path, labels: set[str] | None, provider: dict[str, Any], images: Images
) -> Iterator[Problem]:
    yield from _unique(pool, (*path, "labels"))
    clouds, disks = _names(provider, "cloud-images"), _names(provider, "diskimages")
    for number, item in _items(pool, "labels"):
        place: Path = (*path, "labels", number)
        name = _name(item)
        if name is not None and labels is not None and name not in labels:
            yield _undefined((*place, "name"), "label", name, labels)
        cloud_image, diskimage = _name(item, "cloud-image"), _name(item, "diskimage")
        if cloud_image is not None and clouds is not None and cloud_image not in clouds:
            where = "in the cloud-images of this provider"
            yield _undefined((*place, "cloud-image"), "cloud-image", cloud_image, clouds, where)
        if diskimage is None or diskimage in (disks or ()):
            continue
        if images.known is not None and diskimage not in images.known:
            yield _undefined((*place, "diskimage"), "diskimage", diskimage, images.known)
        elif disks is not None:
            yield Problem(
                (*place, "diskimage"),
                f"names the diskimage {shown(diskimage)!r}, which this provider does not list, so the label is"
                f" not offered here: add the image to the provider's diskimages, or remove the label from the pool",
                "lenient",
            )
