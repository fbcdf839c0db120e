# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Further messages of nova, neutron, cinder, placement and the hypervisors, by the kinds of trouble that they tell."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.faults import error_from_answer
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.sentences import _CLASSES, explained
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.classifier import of_error, of_fault
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import (
    ADDRESSES,
    HOSTS,
    PLUGGED,
    SUCCESS,
    SUCCESS_THERE,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import (
    FLOATING_IPS,
    INSTANCES,
    PORTS,
    RAM,
    UNCOUNTED,
    VOLUME_GB,
    VOLUMES,
)

SERVERS, FLOATING = "POST /servers", "POST /floatingips"
UUID = "2f6a5b1c-6f0e-4c6c-9d5e-0c6c7a1f7b11"
ABORTED = f"Build of instance {UUID} aborted: "
AGAIN = f"Build of instance {UUID} was re-scheduled: "

UNBOUND = [
    f"Binding failed for port {UUID}, please check neutron logs for more information.",
    f"{ABORTED}Failed to allocate the network(s), not rescheduling.",
    "Virtual Interface creation failed",
    "Creation of virtual interface with unique mac address failed",
    "Virtual interface plugin failed",
    "VirtualInterfaceCreateException",
    "VirtualInterfacePlugException",
    "PortBindingFailed",
    f"Port update failed for port {UUID}: Binding failed",
    f"{AGAIN}Failure running os_vif plugin plug method: Failed to plug VIF VIFBridge(...). Got error: x",
    f"{AGAIN}Cannot get interface MTU on 'brq6a1b2c3d-4e': No such device",
    f"{AGAIN}Unable to add bridge brq6a1b2c3d-4e port tapf0a1b2c3-d4: No such device",
    "Unable to create tap device tapf0a1b2c3-d4: Device or resource busy",
    "Unexpected vif_type=binding_failed",
    "Physical network is missing for network 7",
    "vhostuser_sock_path not present in vif_details for vif 7",
    "Parameters {'vlan'} not present in vif_details for vif 7. Check your Neutron configuration",
    "The fixed IP associated with port 7 is not compatible with the host.",
    "Network could not be found for bridge br-int",
    "Network could not be found for instance 7.",
    "Bridge br-ex does not exist.",
    "Device 'tapf0a1b2c3-d4' does not exist.",
    "IPtables conntrack zones exhausted, iptables rules cannot be applied.",
    "Binding for port 7 on host compute-3 could not be created or updated.",
    "Binding for port 7 for host compute-3 could not be found.",
    "Port 7 not usable for instance 7.",
]
CLOUDS = [
    "Compute host compute-7 could not be found.",
    "Host compute-7 could not be found.",
    "Service 12 could not be found.",
    "Could not find binary nova-compute on host compute-7.",
    "ComputeHostNotFound_Remote",
    "HostNotFound",
    "Cell 7 has no mapping.",
    "Timeout waiting for response from cell",
    "CellTimeout",
    "Current Nova version does not support computes older than Yoga but the minimum compute service level is 59",
    "Cinder API version 3.44 is not available.",
    "Nova does not support Cinder API version 2",
    "Ironic API version 1.46 is not available.",
    f"{ABORTED}Failure getting accelerator requests.",
    "Failed to create accelerator requests: cyborg says no",
    "Failed to bind accelerator requests: 7",
    f"{ABORTED}Volume {UUID} could not be attached. Reason: device not found",
    f"{ABORTED}Volume {UUID} could not be found.",
    f"{ABORTED}Bad or unexpected response from the storage volume backend API: Unable to create export",
    "Volume driver not ready.",
    "Failed to create iscsi target for volume volume-7.",
    "Failed to export for volume: no target",
    "Fibre Channel connection control failure: x",
    "Volume device not found at /dev/disk/by-path/7.",
    "Could not mount vfat config drive. mount failed. Error: x",
    "Instance 7 requires config drive, but it does not exist.",
    "Config drive format 'ext9' is not supported.",
    "Failed to read or write disk info file: permission denied",
    "RBD permission error (error connecting to cluster)",
    "[errno 110] error connecting to the cluster",
    "Info cache for instance 7 could not be found.",
    "RequestSpec not found for instance 7",
    "BuildRequest not found for instance 7",
    "504 Server Error: Gateway Time-out for url: http://glance:9292",
    "502 Bad Gateway: The proxy server received an invalid response (HTTP 502)",
    "The server is currently unavailable. Please try again at a later time. (HTTP 503)",
    "Internal Server Error (HTTP 500)",
    "The request you have made requires authentication. (HTTP 401)",
    "Failed to gather or report PCI resources to Placement: x",
    "A conflict was encountered attempting to update resource provider 7 (generation 4): x",
    "Unknown quota resources ['port'].",
]
HOSTLESS = [
    (
        "There was a conflict when trying to complete your request. Unable to allocate inventory: Unable to create"
        " allocation for 'VCPU' on resource provider '7'. The requested amount would exceed the capacity."
    ),
    f"{AGAIN}[errno 28] RBD insufficient space available (error creating clone of 'images/7')",
    "Scheduling failed: Aggregates not found for the subnet 7",
    "Scheduling failed: No hosts available for tenant",
    "Insufficient disk space on datastore 'ds1'.",
    "Insufficient resources. One or more devices required by VM are not available on the host.",
    "Not all Virtual Functions of PF 7:0000 are free.",
    "Physical Function 7:0000, related to VF 7:01 is allocated instead of available",
    "Failed to claim PCI device for 7",
    "PCI device 7 not found",
    "Not able to bind 10.0.0.1:10000, in use",
    "This flavor is sold out in the region",
    "Not enough capacity for the requested type",
    "out of stock",
    f"{AGAIN}Insufficient compute resources: Requested instance NUMA topology cannot fit the given host NUMA topology.",
]
UNUSABLE = [
    f"Could not fetch image {UUID}",
    f"Failed to download image {UUID}, reason: gone",
    f"{ABORTED}Failed to copy image to volume: qemu-img: Image is corrupt",
    f"{ABORTED}Image {UUID} is unacceptable: Unable to convert image to raw: exit code 1",
    "Failed to verify image signature, reason: x",
    "Signature metadata is incomplete for image: 7.",
    f"{ABORTED}Invalid input received: Invalid image identifier or unable to access requested image. (HTTP 400)",
    "Image Conversion disallowed for image 7: too large",
    "Kernel not found for image 7.",
    "[errno 2] RADOS object not found (error opening image b'7' at snapshot b'snap')",
    "Image model 'x' is not supported",
    "The requested image has been deactivated. Image data download is forbidden. (HTTP 403)",
    "Image 7 is in status killed",
    "Image 7 is pending_delete",
]
MISTAKES = [
    "Cannot apply both stateful and stateless security groups on the same port.",
    "Using networks with QoS policy is not supported for instance 7. (Network ID is 7)",
    "The maximum allowed number of disk devices (26) to attach to a single instance has been exceeded.",
    f"{ABORTED}Image {UUID} is unacceptable: Size is 8GB and doesn't fit in a volume of size 1GB.",
    "Volume type is only supported in these availability zones: az1",
    f"{ABORTED}Invalid volume type: fast",
    f"{ABORTED}Invalid input received: Instance hostname np_1 is not a valid DNS name",
    "Invalid characters in hostname 'np_1'",
]
USED_UP = [
    ("Maximum number of ports exceeded", (PORTS,)),
    ("PortLimitExceeded", (PORTS,)),
    ("The number of defined ports: 300 is over the limit: 200", (PORTS,)),
    ("Resource limit exceeded", (INSTANCES,)),
    ("Zero fixed ips available.", (ADDRESSES,)),
    ("There is no share which can host 50G", (VOLUMES,)),
    ("Image 7 size exceeded available disk space: /var/lib/cinder/conversion", (VOLUMES,)),
    ("Quota exceeded for resources: ['security_group'].", (UNCOUNTED,)),
    ("Quota exceeded, too many key pairs.", (UNCOUNTED,)),
    ("Quota exceeded, too many server groups.", (UNCOUNTED,)),
    ("Requested volume or snapshot exceeds allowed gigabytes quota. Requested 50G, quota is 100G", (VOLUME_GB,)),
    (f"{ABORTED}User 7 is over a limit for [Resource class:MEMORY_MB is over limit of 8 due to usage 8]", (RAM,)),
]


@pytest.mark.parametrize("text", UNBOUND)
def test_a_port_that_cannot_be_bound_or_plugged_is_the_network_s(text: str):
    """The network has addresses: the words must not say that it has none."""
    verdict = of_fault(explained(text), 500)
    assert (verdict.owner, verdict.resources) == (owner.NETWORK, (PLUGGED,))


@pytest.mark.parametrize("text", CLOUDS)
def test_what_the_services_of_the_cloud_have_with_each_other_is_the_cloud_s(text: str):
    verdict = of_fault(explained(text), 500)
    assert (verdict.owner, verdict.resources) == (owner.CLOUD, (SUCCESS_THERE,))


@pytest.mark.parametrize("text", HOSTLESS)
def test_what_a_host_has_no_more_of_is_capacity(text: str):
    verdict = of_fault(explained(text), 500)
    assert (verdict.owner, verdict.resources) == (owner.CAPACITY, (HOSTS,))


@pytest.mark.parametrize("text", UNUSABLE)
def test_an_image_that_cannot_be_read_is_the_image_s(text: str):
    assert of_fault(explained(text), 500).owner == owner.IMAGE


@pytest.mark.parametrize("text", MISTAKES)
def test_what_the_settings_of_a_label_make_impossible_is_the_label_s(text: str):
    assert of_fault(explained(text), 500).owner == owner.LABEL


@pytest.mark.parametrize(
    "text",
    [
        "[Errno 27] File too large",
        "qemu-img: error while writing: File size limit exceeded",
        "cannot limit locked memory: RLIMIT_MEMLOCK limit exceeded",
        "Open files limit exceeded",
        "RPC payload size limit exceeded",
        "recursion depth limit exceeded",
        "the time limit exceeded while the disk was written",
    ],
)
def test_a_limit_of_one_thing_is_not_that_of_the_project(text: str):
    """That more servers were forbidden would hold up all who need one, and nothing that ends would make room."""
    assert of_fault(explained(text), 500).owner not in (owner.CAPACITY, owner.ACCOUNT)


@pytest.mark.parametrize(("text", "resources"), USED_UP)
def test_what_is_used_up_is_capacity_and_named(text: str, resources: tuple[str, ...]):
    verdict = of_fault(explained(text), 500)
    assert (verdict.owner, verdict.resources) == (owner.CAPACITY, resources)


GUESSES = {"BuildAbortException", "InstanceDeployFailure", "LibvirtError"}
"""Classes whose names do not tell whose fault it is."""


@pytest.mark.parametrize("name", sorted(set(_CLASSES) - GUESSES))
def test_the_sentence_for_a_class_has_the_owner_of_the_class(name: str):
    whose = of_fault(explained(f"neutronclient.common.exceptions.{name}"), 500).owner
    assert whose in (owner.CLOUD, owner.NETWORK, owner.CAPACITY)


@pytest.mark.parametrize("code", [401, 403, 404, 400, 500])
def test_the_account_of_a_service_is_not_ours(code: int):
    """nova stores the status of an exception with the fault: 401 is about the login of nova, not about ours."""
    assert of_fault("Not authorized.", 401).owner == owner.CLOUD
    assert of_fault("in no known words", code).owner in (owner.UNKNOWN, owner.CLOUD, owner.ACCOUNT)


def refused(status: int, text: str, call: str = SERVERS, kind: str = "badRequest", **headers: str):
    body = json.dumps({kind: {"message": text, "code": status}})
    if kind.startswith("Neutron:"):
        body = json.dumps({"NeutronError": {"type": kind.partition(":")[2], "message": text, "detail": ""}})
    return of_error(error_from_answer(provider="p", call=call, status=status, body=body, headers=headers))


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (413, "This request was rate-limited. Only 10 POST request(s) can be made to * every minute.", "overLimit"),
        (429, "Too many requests", "overLimit"),
        (403, "API rate limit exceeded", "forbidden"),
        (403, "Rate limit reached for this tenant, try later", "forbidden"),
        (400, "Request was throttled", "badRequest"),
        (400, "Compute host compute-7 could not be found.", "badRequest"),
    ],
)
def test_a_cloud_that_wants_fewer_calls_is_nobody_s_fault(status: int, text: str, kind: str):
    verdict = refused(status, text, kind=kind, **{"Retry-After": "5"})
    assert verdict.owner == owner.CLOUD and not set(verdict.resources) - {SUCCESS, SUCCESS_THERE}


@pytest.mark.parametrize(
    ("kind", "status", "whose"),
    [
        ("OverQuota", 409, owner.CAPACITY),
        ("ExternalIpAddressExhausted", 400, owner.CAPACITY),
        ("IpAddressGenerationFailure", 409, owner.CAPACITY),
        ("IpAddressGenerationFailureAllSubnets", 409, owner.CAPACITY),
        ("NetworkNotFound", 404, owner.LABEL),
        ("ServiceUnavailable", 503, owner.CLOUD),
        ("PortNotFound", 404, owner.UNKNOWN),
        ("PolicyNotAuthorized", 403, owner.ACCOUNT),
    ],
)
def test_neutron_s_types_decide_about_floating_ips(kind: str, status: int, whose: str):
    verdict = refused(status, "in no known words", FLOATING, f"Neutron:{kind}")
    assert verdict.owner == whose
    assert whose != owner.CAPACITY or verdict.resources == (FLOATING_IPS,)


@pytest.mark.parametrize("status", [405, 406, 410, 411, 415, 417, 421, 422, 426, 431])
def test_a_status_that_nova_does_not_use_for_creates_comes_from_what_stands_before_it(status: int):
    page = f"<html><body><h1>{status}</h1>some proxy</body></html>"
    assert of_error(error_from_answer(provider="p", call=SERVERS, status=status, body=page)).owner == owner.CLOUD


@pytest.mark.parametrize("text", ["Zero floating IPs available.", "No more floating IPs available."])
def test_floating_ips_that_are_used_up_are_known_by_their_words(text: str):
    assert refused(404, text, FLOATING, "itemNotFound").resources == (FLOATING_IPS,)
