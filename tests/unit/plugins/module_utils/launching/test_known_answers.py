# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nova, neutron, cinder and what stands before them answer, in their own words, and whose fault it is."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.classifier import (
    Verdict,
    classify,
    of_error,
    of_fault,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import (
    ADDRESSES,
    CREATES,
    FAULT,
    HOSTS,
    MEMBERS,
    PLUGGED,
    SUCCESS_THERE,
    Answer,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import (
    INSTANCES,
    PORTS,
    RAM,
    VOLUME_GB,
    VOLUMES,
)

SERVERS = "POST /servers"
NO_FIXED = (
    "Build of instance 1 aborted: Failed to allocate the network(s) with error No fixed IP addresses available for"
    " network: 5, not rescheduling."
)
TOO_LONG = "Invalid input for field/attribute tenant. Value: ttt. 'ttt' is too long"


@pytest.mark.parametrize(
    ("text", "whose", "resources"),
    [
        ("No valid host was found. ", owner.CAPACITY, (HOSTS,)),
        ("No valid host was found. There are not enough hosts available.", owner.CAPACITY, (HOSTS,)),
        ("Insufficient compute resources: Free memory 10 MB < 512 MB.", owner.CAPACITY, (HOSTS,)),
        (NO_FIXED, owner.CAPACITY, (ADDRESSES,)),
        ("No more IP addresses available on network 5.", owner.CAPACITY, (ADDRESSES,)),
        (
            "Build of instance 1 aborted: Failed to allocate the network(s), not rescheduling.",
            owner.NETWORK,
            (PLUGGED,),
        ),
        ("Binding failed for port 1, please check neutron logs for more information.", owner.NETWORK, (PLUGGED,)),
        ("Quota exceeded for instances: Requested 1, but already used 6 of 6 instances", owner.CAPACITY, (INSTANCES,)),
        ("Quota exceeded for ram: Requested 512, but already used 9 of 9 ram", owner.CAPACITY, (RAM,)),
        ("Maximum number of ports exceeded", owner.CAPACITY, (PORTS,)),
        ("Attempt to consume PCI device 1:0000:04:00 from empty pool", owner.CAPACITY, (HOSTS,)),
        ("PCI device 1:0000:04:00.1 is allocated instead of available", owner.CAPACITY, (HOSTS,)),
        ("Scheduling failed: No hosts available for tenant", owner.CAPACITY, (HOSTS,)),
        ("Not able to acquire a free port for 10.0.0.1", owner.CAPACITY, (HOSTS,)),
        ("Build of instance 1 aborted: Affinity policy was violated", owner.CAPACITY, (HOSTS,)),
        ("Instance 7 has no mapping to a cell.", owner.CLOUD, (SUCCESS_THERE,)),
        ("Failed to update allocations for consumer 7. Error: conflict", owner.CLOUD, (SUCCESS_THERE,)),
        ("Failed to retrieve usages for project 'p' and user 'u'.", owner.CLOUD, (SUCCESS_THERE,)),
        ("Key manager error: Internal Server Error", owner.CLOUD, (SUCCESS_THERE,)),
        ("Service is unavailable at this time.", owner.CLOUD, (SUCCESS_THERE,)),
        ("Port update failed for port 7: its segment has no hosts", owner.NETWORK, (PLUGGED,)),
        ("Failed to activate binding for port 7 on host h; please check neutron logs", owner.NETWORK, (PLUGGED,)),
        ("Network requires port_security_enabled and subnet associated to apply groups.", owner.LABEL, ()),
        ("Build of instance 1 aborted: Volume encryption is not supported for luks volume 7", owner.LABEL, ()),
        ("Build of instance 1 aborted: UEFI is not supported", owner.IMAGE, ()),
        ("Build of instance 1 aborted: Secure Boot is not supported by host", owner.IMAGE, ()),
        ("Requested hardware 'ib700' is not supported by the 'kvm' virt driver", owner.IMAGE, ()),
        ("Build of instance 1 aborted: Disk info file is invalid: unsupported format", owner.IMAGE, ()),
        ("internal error: process exited while connecting to monitor", owner.UNKNOWN, ()),
        ("Quota exceeded, too many servers in group", owner.CAPACITY, (MEMBERS,)),
        ("VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded", owner.CAPACITY, (VOLUMES,)),
        ("Exceeded maximum number of retries. Exhausted all hosts available for retrying", owner.UNKNOWN, ()),
        ("No valid host was found. Exceeded max scheduling attempts 3 for instance 1.", owner.UNKNOWN, ()),
        ("Build of instance 1 aborted: Image 7 is unacceptable: Converted to raw, but not raw", owner.IMAGE, ()),
        ("Flavor's disk is too small for requested image.", owner.IMAGE, ()),
        (
            "qemu unexpectedly closed the monitor: cannot set up guest memory: Cannot allocate memory",
            owner.CAPACITY,
            (HOSTS,),
        ),
        ("[Errno 28] No space left on device", owner.CAPACITY, (HOSTS,)),
        ("PCI device request [InstancePCIRequest] failed", owner.CAPACITY, (HOSTS,)),
        (
            "Volume 7 did not finish being created even after we waited 187 seconds or 61 attempts.",
            owner.CAPACITY,
            (VOLUMES,),
        ),
        ("Host 'compute-1' is not mapped to any cell", owner.CLOUD, (SUCCESS_THERE,)),
        ("Failed to retrieve allocations for resource provider 7", owner.CLOUD, (SUCCESS_THERE,)),
        ("Security group 7 could not be found.", owner.LABEL, ()),
        ("Timed out waiting for a reply to message ID 7", owner.CLOUD, (SUCCESS_THERE,)),
        ("Remote error: DBError (pymysql.err.OperationalError)", owner.CLOUD, (SUCCESS_THERE,)),
        (
            (
                "Exceeded maximum number of retries. Exceeded max scheduling attempts 3 for instance 1. Last exception:"
                " unable to map backing store for guest RAM: Cannot allocate memory"
            ),
            owner.CAPACITY,
            (HOSTS,),
        ),
        (
            (
                "Exceeded maximum number of retries. Exceeded max scheduling attempts 3 for instance 1. Last exception:"
                " Binding failed for port 7, please check neutron logs for more information."
            ),
            owner.NETWORK,
            (PLUGGED,),
        ),
        ("Exceeded maximum number of retries. Last exception: libvirt exploded", owner.UNKNOWN, ()),
        (
            (
                "Build of instance 1 aborted: VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for"
                " quota 'volumes_ssd'."
            ),
            owner.CAPACITY,
            (VOLUMES,),
        ),
        (
            "Build of instance 1 aborted: Requested volume or snapshot exceeds allowed gigabytes_ssd quota.",
            owner.CAPACITY,
            (VOLUME_GB,),
        ),
        (
            (
                "Build of instance 1 aborted: Block Device Mapping is Invalid: Invalid input received: Availability"
                " zone 'az1' is invalid. (HTTP 400)"
            ),
            owner.LABEL,
            (),
        ),
        ("Build of instance 1 aborted: Size of specified image 8GB is larger than volume size 1GB.", owner.LABEL, ()),
        ("Build of instance 1 aborted: Volume type fast could not be found.", owner.LABEL, ()),
        (
            "Build of instance 1 was re-scheduled: Anti-affinity server group policy was violated.",
            owner.CAPACITY,
            (HOSTS,),
        ),
        (
            "CPU set to pin [1] must be a subset of free CPU set [] or CPU set sharing threads",
            owner.CAPACITY,
            (HOSTS,),
        ),
        ("Build of instance 1 aborted: Failure prepping block device.", owner.UNKNOWN, ()),
        ("Connection to keystone host failed: timed out", owner.CLOUD, (SUCCESS_THERE,)),
        ("Connection to the hypervisor is broken on host", owner.CLOUD, (SUCCESS_THERE,)),
        ("Compute service of compute-3 is unavailable at this time.", owner.CLOUD, (SUCCESS_THERE,)),
        ("Virtual interface plugin failed", owner.NETWORK, (PLUGGED,)),
        ("Disk format vhd is not acceptable", owner.IMAGE, ()),
        ("Host does not support guests with NUMA topology set", owner.IMAGE, ()),
        ("Quota for project 7 could not be found.", owner.UNKNOWN, ()),
        ("libvirt exploded", owner.UNKNOWN, ()),
        ("", owner.UNKNOWN, ()),
    ],
)
def test_the_fault_of_a_server_has_an_owner(text, whose, resources):
    verdict = of_fault(text, 500)
    assert (verdict.owner, verdict.resources) == (whose, resources)


@pytest.mark.parametrize(
    ("status", "text", "whose", "names"),
    [
        (400, "Flavor 5 could not be found.", owner.LABEL, "flavor"),
        (400, "Can not find requested image", owner.IMAGE, "image"),
        (400, "Image 7 is not active.", owner.IMAGE, "image"),
        (400, "Flavor's memory is too small for requested image.", owner.IMAGE, ""),
        (400, "Network 5 could not be found.", owner.LABEL, "network"),
        (400, "Invalid input for field/attribute uuid. Value: nonet. 'nonet' is not a 'uuid'", owner.LABEL, "network"),
        (403, "It is not allowed to create an interface on external network 5", owner.LABEL, "network"),
        (409, "More than one possible network found. Specify network ID(s)", owner.LABEL, "network"),
        (409, "Multiple security_groups found matching 'x'. Use an ID to be more specific.", owner.LABEL, "group"),
        (400, "Unable to find security_group with name or id 'x'", owner.LABEL, "group"),
        (400, "Invalid key_name provided.", owner.LABEL, "key"),
        (400, "The requested availability zone is not available", owner.LABEL, "zone"),
        (409, "Instance np0000000001 already exists.", owner.US, "name"),
        (403, "Maximum number of metadata items exceeds 128", owner.LABEL, ""),
        (403, "Policy doesn't allow os_compute_api:servers:create to be performed.", owner.ACCOUNT, ""),
        (403, "Quota exceeded for instances: Requested 1, but already used 3 of 3", owner.CAPACITY, ""),
        (400, TOO_LONG, owner.LABEL, ""),
        (400, "Fixed IP address 10.0.0.5 is already in use on instance 7.", owner.UNKNOWN, ""),
        (409, "Port 5 is still in use.", owner.UNKNOWN, ""),
        (404, "The resource could not be found.", owner.CLOUD, ""),
        (413, "413 Request Entity Too Large nginx", owner.LABEL, ""),
        (413, "Request is too large.", owner.LABEL, ""),
        (400, "Unable to find flavor", owner.LABEL, "flavor"),
        (400, "User data needs to be valid base 64.", owner.LABEL, ""),
        (400, "Block Device Mapping is Invalid: You specified more local devices than the limit", owner.LABEL, ""),
        (400, "Volume is smaller than the minimum size specified in image metadata.", owner.LABEL, ""),
        (400, "Blank volumes need to have non-zero size", owner.LABEL, ""),
        (403, "Only volume-backed servers are allowed for flavors with zero disk.", owner.LABEL, ""),
        (400, "Instance group 7 could not be found.", owner.LABEL, "server group"),
        (400, "Duplicate networks (7) are not allowed", owner.LABEL, ""),
        (
            400,
            "Image property hw_cpu_policy is not permitted to override policy set against the flavor",
            owner.IMAGE,
            "",
        ),
        (400, "The created instance's disk would be too small.", owner.IMAGE, ""),
        (400, "Cannot set cpu thread pinning policy in a non dedicated cpu pinning policy", owner.IMAGE, ""),
        (400, "PCI alias gpu is not defined", owner.IMAGE, ""),
        (400, "Device profile name gpu: Device profile not found", owner.IMAGE, ""),
        (400, "Mixed instance must have at least 1 pinned vCPU and 1 unpinned vCPU.", owner.IMAGE, ""),
        (403, "Maximum number of security groups or rules exceeded", owner.CAPACITY, ""),
        (400, "CPU and memory allocation must be provided for all NUMA nodes", owner.IMAGE, ""),
        (400, "Machine type 'q35' is not compatible with image jammy (7): x", owner.IMAGE, ""),
        (400, "Not authorized for image 7.", owner.IMAGE, "image"),
        (400, "Keypair zuul not found for user 7", owner.LABEL, "key"),
        (409, "No Unique Match Found.", owner.LABEL, "group"),
        (400, "Unable to automatically allocate a network for project 7", owner.LABEL, "network"),
        (400, "Volume type fast could not be found.", owner.LABEL, ""),
        (400, "Invalid config_drive provided.", owner.LABEL, ""),
        (400, "Block Device 7 is not bootable.", owner.LABEL, ""),
        (413, "Requested volume size 200G is larger than maximum allowed limit 100G.", owner.LABEL, ""),
        (400, "MessagingTimeout: Timed out waiting for a reply to message ID 7", owner.CLOUD, ""),
        (400, "DBConnectionError: (pymysql.err.OperationalError)", owner.CLOUD, ""),
        (402, "Insufficient balance", owner.ACCOUNT, ""),
        (403, "Volume quota exceeded", owner.CAPACITY, ""),
        (403, "Personality file path exceeds maximum 255", owner.UNKNOWN, ""),
        (404, "<html>404 page not found</html>", owner.CLOUD, ""),
        (405, "Method Not Allowed", owner.CLOUD, ""),
        (426, "Upgrade Required", owner.CLOUD, ""),
        (406, "Version 2.93 is not supported by the API. Minimum is 2.1 and maximum is 2.90.", owner.CLOUD, ""),
        (300, "Multiple Choices", owner.CLOUD, ""),
        (504, "<html>Gateway Time-out</html>", owner.CLOUD, ""),
        (503, "No valid host", owner.CLOUD, ""),
        (429, "too many requests", owner.CLOUD, ""),
        (None, "no answer within 30 s", owner.CLOUD, ""),
        (200, "<html>", owner.CLOUD, ""),
        (418, "I'm a teapot", owner.UNKNOWN, ""),
    ],
)
def test_a_refused_create_has_an_owner(status, text, whose, names):
    verdict = classify(Answer(SERVERS, status, "", text))
    assert (verdict.owner, verdict.names) == (whose, names)


@pytest.mark.parametrize("status", [404, 405, 406, 410])
def test_what_nova_itself_answers_is_no_answer_of_a_proxy(status):
    assert classify(Answer(SERVERS, status, "itemNotFound", "The resource could not be found.")).owner == owner.UNKNOWN


def test_a_flavor_and_an_image_that_do_not_fit_are_tried_once():
    told = classify(Answer(SERVERS, 400, "badRequest", "Flavor's disk is too small for requested image."))
    assert told.owner == owner.IMAGE and told.once
    assert not classify(Answer(FAULT, 500, "", "Flavor's disk is too small for requested image.")).once


def test_a_token_that_nova_alone_refuses_stops_creates():
    assert of_error(CloudAuthError("no", call=SERVERS, status=401)) == Verdict(owner.ACCOUNT, (CREATES,))
    assert of_error(CloudAuthError("no", call="POST /auth/tokens", status=401)) == Verdict(owner.ACCOUNT)
