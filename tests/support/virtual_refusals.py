# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the nova of a virtual cloud refuses for its content, in nova's words."""

from __future__ import annotations

import base64

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import ServerSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudConflict, CloudRefused
from tests.support.virtual_cloud import VirtualCloud

CREATE = "POST /servers"


def refuse_invalid(cloud: VirtualCloud, spec: ServerSpec) -> None:
    """nova's schema, its scope of unique names, and its flavors by their ids.

    :raises CloudRefused: in nova's words; those of the schema repeat the value.
    """
    wrong = [(key, value) for key, value in spec.metadata.items() if len(value) > 255]
    if spec.userdata is not None and len(base64.b64encode(spec.userdata.encode())) > 65535:
        wrong.append(("user_data", spec.userdata))
    for key, value in wrong:
        shown = value[:100]
        raise _refused(f"Invalid input for field/attribute {key}. Value: {shown}. {shown!r} is too long")
    names = {machine.name.lower() for machine in cloud.machines.values()}
    if cloud.unique_names and spec.name.lower() in names | cloud.taken_names:
        text = f"{CREATE} was answered with 409: Instance {spec.name} already exists."
        raise CloudConflict(text, call=CREATE, status=409, error_type="conflictingRequest")
    if not any(spec.flavor_id in (flavor.id, flavor.name) for flavor in cloud.flavors):
        raise _refused(f"Flavor {spec.flavor_id} could not be found.")
    if spec.key_name is not None and spec.key_name not in cloud.keypairs:
        raise _refused("Invalid key_name provided.")
    _refuse_networks(cloud, spec)
    _refuse_groups(cloud, spec)


def _refuse_networks(cloud: VirtualCloud, spec: ServerSpec) -> None:
    """nova asks neutron for the networks by their ids; without any it takes the only one of the project."""
    if cloud.nets is None:
        return
    known = {network.id: network for network in cloud.nets}
    chosen = spec.network_ids or tuple(network.id for network in cloud.nets if network.automatic)
    if not spec.network_ids and len(chosen) > 1:
        text = (
            f"{CREATE} was answered with 409: Multiple possible networks found, use a Network ID to be more specific."
        )
        raise CloudConflict(text, call=CREATE, status=409, error_type="conflictingRequest")
    for ident in chosen:
        if ident not in known:
            raise _refused(f"Network {ident} could not be found.")
        if not known[ident].has_subnet:
            raise _refused(f"Network {ident} requires a subnet in order to boot instances on.")


def _refuse_groups(cloud: VirtualCloud, spec: ServerSpec) -> None:
    """nova looks groups up by name and by id among those of the project, and then among the shared ones."""
    groups = cloud.groups()
    for name in spec.security_groups:
        found = [group for group in groups if group.id == name]
        found = found or [group for group in groups if group.name == name and group.own]
        found = found or [group for group in groups if group.name == name]
        if not found:
            raise _refused(f"Security group {name} not found for project p.")
        if len(found) > 1:
            words = f"Multiple security groups found matching '{name}'. Use an ID to be more specific."
            text = f"{CREATE} was answered with 409: {words}"
            raise CloudConflict(text, call=CREATE, status=409, error_type="conflictingRequest")


def _refused(text: str) -> CloudRefused:
    message = f"{CREATE} was answered with 400: {text}"
    return CloudRefused(message, call=CREATE, status=400, error_type="badRequest")
