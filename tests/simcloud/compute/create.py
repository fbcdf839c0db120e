# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a POST /servers in nova's order and with nova's words, and turns it into a wish."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.simcloud.answers import nova_error
from tests.simcloud.compute.server import Wish
from tests.simcloud.config import FlavorConfig, Settings
from tests.simcloud.microversion import Version
from tests.simcloud.network.state import NetworkState

UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
METADATA_ITEMS = 128
USER_DATA_BYTES = 65535
PROPERTIES = frozenset(
    """name imageRef flavorRef networks metadata key_name security_groups availability_zone config_drive user_data
    block_device_mapping block_device_mapping_v2 min_count max_count return_reservation_id adminPass accessIPv4
    accessIPv6 OS-DCF:diskConfig description tags trusted_image_certificates host hypervisor_hostname hostname
    personality""".split()
)


@dataclass
class Surroundings:
    """What a wish is checked against. ``image`` returns glance's document of an image, or None."""

    settings: Settings
    network: NetworkState
    flavors: Mapping[str, FlavorConfig]
    keypairs: Mapping[str, Any]
    image: Callable[[str], Mapping[str, Any] | None]


def check(fields: dict[str, Any], version: Version, around: Surroundings) -> tuple[Wish, int, int]:
    """Return the wish and how many servers of it are wanted at least and at most.

    :raises Refusal: with nova's text.
    """
    _check_schema(fields, version)
    networks = _networks(fields, version, around)
    flavor = around.flavors.get(str(fields["flavorRef"]))
    if flavor is None:
        raise nova_error(400, f"Flavor {fields['flavorRef']} could not be found.")
    image_id, volumes = _boot_source(fields, around)
    if len(fields.get("metadata") or {}) > METADATA_ITEMS:
        raise nova_error(403, f"Maximum number of metadata items exceeds {METADATA_ITEMS}")
    if image_id is not None:
        _check_image(image_id, flavor, around, bool(volumes))
    az = fields.get("availability_zone")
    if az is not None and (around.settings.cells_down or az not in around.settings.azs):
        raise nova_error(400, "The requested availability zone is not available")
    key_name = fields.get("key_name")
    if key_name is not None and key_name not in around.keypairs:
        raise nova_error(400, "Invalid key_name provided.")
    minimum = int(fields.get("min_count", 1))
    maximum = int(fields.get("max_count", minimum))
    if minimum > maximum:
        raise nova_error(400, "min_count must be <= max_count")
    wish = Wish(
        name=fields["name"].strip(),
        flavor=flavor,
        image_id=None if volumes else image_id,
        networks=networks,
        metadata=dict(fields.get("metadata") or {}),
        az=az,
        key_name=key_name,
        security_groups=_security_groups(fields, around),
        config_drive=str(fields.get("config_drive", "")).lower() in ("true", "1", "on", "yes"),
        user_data=_user_data(fields),
        volumes=volumes,
        description=fields.get("description") if version >= (2, 19) else None,
        tags=list(fields.get("tags") or []) if version >= (2, 52) else [],
    )
    return wish, minimum, maximum


def _invalid(attribute: str, value: Any, reason: str) -> Exception:
    return nova_error(400, f"Invalid input for field/attribute {attribute}. Value: {value}. {reason}")


def _check_schema(fields: dict[str, Any], version: Version) -> None:
    for required in ("name", "flavorRef"):
        if required not in fields:
            raise _invalid("server", fields, f"'{required}' is a required property")
    if version >= (2, 37) and "networks" not in fields:
        raise _invalid("server", fields, "'networks' is a required property")
    for key in fields:
        if key not in PROPERTIES and not key.startswith("os:"):
            raise _invalid("server", fields, f"Additional properties are not allowed ('{key}' was unexpected)")
    name = fields["name"]
    if not isinstance(name, str):
        raise _invalid("name", name, f"{name!r} is not of type 'string'")
    if not name.strip():
        raise _invalid("name", name, f"{name!r} is too short")
    if len(name) > 255:
        raise _invalid("name", name, f"{name!r} is too long")
    metadata = fields.get("metadata")
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        raise _invalid("metadata", metadata, f"{metadata!r} is not of type 'object'")
    for key, value in metadata.items():
        if not isinstance(value, str):
            raise _invalid(key, value, f"{value!r} is not of type 'string'")
        if len(value) > 255:
            raise _invalid(key, value, f"{value!r} is too long")
        if not re.fullmatch(r"[a-zA-Z0-9\-_:. ]{1,255}", key):
            raise _invalid("metadata", metadata, f"'{key}' does not match any of the regexes")


def _networks(fields: dict[str, Any], version: Version, around: Surroundings) -> list[tuple[str, str]]:
    state = around.network
    wanted = fields.get("networks")
    own = [item for item in state.networks.values() if item.shared or not item.external]
    if wanted in ("auto", "none"):
        if version < (2, 37):
            raise _invalid("networks", wanted, f"{wanted!r} is not of type 'array'")
        return [("network", own[0].id)] if wanted == "auto" and own else []
    if wanted is not None and not isinstance(wanted, list):
        raise _invalid("networks", wanted, f"{wanted!r} is not valid under any of the given schemas")
    if not wanted:
        if len(own) > 1:
            message = "Multiple possible networks found, use a Network ID to be more specific."
            raise nova_error(409, message)
        return [("network", item.id) for item in own]
    chosen: list[tuple[str, str]] = []
    for entry in wanted:
        chosen.append(_network(entry, state))
    return chosen


def _network(entry: Any, state: NetworkState) -> tuple[str, str]:
    if not isinstance(entry, dict):
        raise _invalid("networks", entry, f"{entry!r} is not of type 'object'")
    if entry.get("port"):
        port = state.ports.get(entry["port"])
        if port is None:
            raise nova_error(400, f"Port id {entry['port']} could not be found.")
        if port["device_id"]:
            raise nova_error(409, f"Port {port['id']} is still in use.")
        return ("port", port["id"])
    ident = str(entry.get("uuid"))
    if not UUID.fullmatch(ident):
        raise _invalid("uuid", ident, f"{ident!r} is not a 'uuid'")
    network = state.networks.get(ident)
    if network is None:
        raise nova_error(400, f"Network {ident} could not be found.")
    return ("network", ident)


def _boot_source(fields: dict[str, Any], around: Surroundings) -> tuple[str | None, list[tuple[int, bool]]]:
    image_id = fields.get("imageRef") or None
    volumes: list[tuple[int, bool]] = []
    for entry in fields.get("block_device_mapping_v2") or []:
        source, target = entry.get("source_type"), entry.get("destination_type")
        boot = str(entry.get("boot_index", "0")) == "0"
        if source == "image" and boot and not image_id:
            image_id = entry.get("uuid")
        if target != "volume" and source not in ("volume", "snapshot"):
            continue
        if source == "image" or source == "blank":
            size = int(entry.get("volume_size") or 0)
            if size < 1:
                message = (
                    "Block Device Mapping is Invalid: Images with destination_type 'volume' need to have a "
                    "non-zero size specified"
                )
                raise nova_error(400, message)
            volumes.append((size, str(entry.get("delete_on_termination", False)).lower() in ("true", "1")))
    if image_id is not None and not UUID.fullmatch(str(image_id)):
        raise _invalid("imageRef", image_id, f"{image_id!r} is not valid under any of the given schemas")
    if image_id is None and not volumes:
        raise nova_error(400, "Missing imageRef attribute")
    return image_id, volumes


def _check_image(image_id: str, flavor: FlavorConfig, around: Surroundings, volume: bool) -> None:
    image = around.image(image_id)
    if image is None:
        raise nova_error(400, "Can not find requested image")
    if image["status"] != "active":
        raise nova_error(400, f"Image {image_id} is not active.")
    if flavor.ram < image["min_ram"]:
        raise nova_error(400, "Flavor's memory is too small for requested image.")
    if not volume and flavor.disk and flavor.disk < image["min_disk"]:
        message = (
            "Flavor's disk is smaller than the minimum size specified in image metadata. Flavor disk is "
            f"{flavor.disk << 30} bytes, minimum size is {image['min_disk'] << 30} bytes."
        )
        raise nova_error(400, message)


def _security_groups(fields: dict[str, Any], around: Surroundings) -> list[str]:
    known = around.network.security_groups
    names = [str(entry.get("name")) for entry in fields.get("security_groups") or [{"name": "default"}]]
    for name in names:
        if name not in known and list(known.values()).count(name) > 1:
            message = f"Multiple security_group matches found for name '{name}', use an ID to be more specific."
            raise nova_error(409, message)
        if name not in known and name not in known.values():
            raise nova_error(400, f"Unable to find security_group with name or id '{name}'")
    return names


def _user_data(fields: dict[str, Any]) -> str | None:
    text = fields.get("user_data")
    if text is None:
        return None
    if len(str(text)) > USER_DATA_BYTES:
        raise _invalid("user_data", text, f"{text!r} is too long")
    try:
        base64.b64decode(str(text))
    except (binascii.Error, ValueError):
        raise _invalid("user_data", text, f"{text!r} is not a 'base64'") from None
    return str(text)
