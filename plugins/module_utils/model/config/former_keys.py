# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that former releases of Nodepool had, and keys of generators of its files, each with what became of it.

They serve only to report such a key with a better message than "unknown": a key with a similar name means something
else. Source: the change log and the release notes of Nodepool 11.0.0, the manuals of Nodepool 0.4 and 3.
"""

from __future__ import annotations

from .problems import Path

Section = tuple[str, ...]
_TOP: Section = ()
_PROVIDER: Section = ("providers",)
_POOL: Section = ("providers", "pools")
_POOL_LABEL: Section = (*_POOL, "labels")
_UPLOADED: Section = ("providers", "diskimages")
_CLOUD_IMAGE: Section = ("providers", "cloud-images")

_CLOUDS_YAML = "write it into the cloud's entry in clouds.yaml"
_POOLS = "write it into the pools of the provider"
_LABELS = "write it into the labels of the pools"
_ZUUL = "Zuul sets up nodes by its jobs now: remove it"
_NO_SNAPSHOT = "images are built from elements, no longer set up by scripts: remove it"
_ZOOKEEPER = "requests come through ZooKeeper now: remove it"

_TWO, _NINE = "2", "9"
"""The last major release that had a key. Nodepool counted its releases before 3.0 as 0.x."""

_PARTS: dict[Section, dict[str, tuple[str, str]]] = {
    _TOP: {
        "cron": (_TWO, "the services schedule their own work: set rebuild-age of diskimages, then remove it"),
        "dburi": (_TWO, "the state is in ZooKeeper, see zookeeper-servers: remove it"),
        "gearman-servers": (_TWO, _ZOOKEEPER),
        "script-dir": (_TWO, _NO_SNAPSHOT),
        "targets": (_TWO, "Nodepool no longer supports Jenkins, Zuul requests nodes: remove it"),
        "zmq-publishers": (_TWO, _ZOOKEEPER),
    },
    ("labels",): {
        "image": (_TWO, "name it as diskimage or cloud-image in the labels of the pools"),
        "providers": (_TWO, "each pool of a provider lists its labels"),
        "ready-script": (_TWO, _ZUUL),
        "subnodes": (_TWO, "a request names several nodes: define a nodeset in Zuul, then remove it"),
    },
    _PROVIDER: {
        "api-timeout": (
            _TWO,
            "set api_timeout in the cloud's entry in clouds.yaml, or the option api_timeout of playbooks and roles",
        ),
        "auth-url": (_TWO, _CLOUDS_YAML),
        "availability-zones": (_TWO, _POOLS),
        "hostname-format": (_NINE, "nothing used it: remove it"),
        "image-type": (_TWO, "write it as image_format into the cloud's entry in clouds.yaml"),
        "images": (
            _TWO,
            "list built images in diskimages and others in cloud-images; flavors are in the pools' labels",
        ),
        "ipv6-preferred": (_TWO, "a node is reached at the address that the launcher's host can use: remove it"),
        "keypair": (_TWO, "write it as key-name into the labels of the pools"),
        "max-servers": (_TWO, _POOLS),
        "networks": (_TWO, _POOLS),
        "password": (_TWO, _CLOUDS_YAML),
        "pool": (_TWO, "the network of floating IPs is the external one of clouds.yaml: remove it"),
        "project-id": (_TWO, _CLOUDS_YAML),
        "project-name": (_TWO, _CLOUDS_YAML),
        "security-groups": (_TWO, _POOLS),
        "service-name": (_TWO, "write it as compute_service_name into the cloud's entry in clouds.yaml"),
        "service-type": (_TWO, "write it as compute_service_type into the cloud's entry in clouds.yaml"),
        "template-hostname": (_TWO, "image-name-format gives the names of images"),
        "use-neutron": (_TWO, "the catalog of the cloud has it: remove it"),
        "username": (_TWO, _CLOUDS_YAML),
    },
    _UPLOADED: {
        "diskimage": (_TWO, "name is the name of the diskimage: remove it"),
        "key-name": (_TWO, _LABELS),
        "min-ram": (_TWO, _LABELS),
        "name-filter": (_TWO, "write it as flavor-name into the labels of the pools"),
        "private-key": (_TWO, "the launcher does not log in to nodes: remove it"),
        "user-home": (_TWO, _ZUUL),
        "username": (_TWO, "write it into the diskimage at the top of the file"),
    },
    _CLOUD_IMAGE: {
        "min-ram": (_TWO, _LABELS),
        "name-filter": (_TWO, "write it as flavor-name into the labels of the pools"),
        "private-key": (_TWO, "the launcher does not log in to nodes: remove it"),
        "setup": (_TWO, _ZUUL),
        "user-home": (_TWO, _ZUUL),
    },
    _POOL_LABEL: {
        "name-filter": (_TWO, "write it as flavor-name"),
        "ready-script": (_TWO, _ZUUL),
    },
}

_GENERATED: dict[Section, dict[str, str]] = {
    _TOP: {
        "extra-labels": (
            "is a key of Software Factory's files, which its generator merges into the pools, and ignored: "
            "write its labels into the pools, or check the generated file"
        ),
    },
}


def became_of(path: Path, key: str) -> str:
    """Return what became of a former key, as the message of a problem; "" for a key that never existed there.

    :param path: the path of the mapping that has the key.
    """
    section = tuple(step for step in path if isinstance(step, str))
    generated = _GENERATED.get(section, {}).get(key)
    if generated:
        return generated
    found = _PARTS.get(section, {}).get(key)
    return f"is a key of Nodepool up to {found[0]} and ignored: {found[1]}" if found else ""
