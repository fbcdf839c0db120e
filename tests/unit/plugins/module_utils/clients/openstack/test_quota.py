# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.quota import (
    is_quota_text,
    quota_resources,
)


@pytest.mark.parametrize(
    ("text", "resources"),
    [
        ("Quota exceeded for instances: Requested 1, but already used 3 of 3 instances", ("instances",)),
        (
            "Quota exceeded for instances, cores: Requested 1, 4, but already used 3, 12 of 3, 12 instances, cores",
            ("instances", "cores"),
        ),
        (
            "Quota exceeded for cores, ram: Requested 8, 16384, already used 20, 40960 of 20, 51200",
            ("cores", "ram"),
        ),
        ("Maximum number of ports exceeded", ("ports",)),
        ("Maximum number of fixed IPs exceeded", ("ports",)),
        ("The number of defined ports: 300 is over the limit: 200", ("ports",)),
        ("Quota exceeded for resources: ['port'].", ("ports",)),
        ("Quota exceeded for resources: ['floatingip', 'port'].", ("ports", "floating-ips")),
        (
            "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.",
            ("volumes",),
        ),
        (
            (
                "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota."
                " Requested 50G, quota is 1000G and 990G has been consumed."
            ),
            ("volume-gb",),
        ),
        (
            (
                "Project 9f0 is over a limit for [Resource servers is over limit of 3 due to usage 3 and delta 1,"
                " Resource class:VCPU is over limit of 4 due to current usage 4 and delta 1]"
            ),
            ("instances", "cores"),
        ),
        ("Volume quota exceeded", ("volumes",)),
        ("Maximum number of volumes allowed (10) exceeded for quota 'volumes_ssd'.", ("volumes",)),
        ("Requested volume or snapshot exceeds allowed gigabytes_ssd quota. Requested 50G", ("volume-gb",)),
        ("Unexpected over quota on gigabytes.", ("volume-gb",)),
        ("Quota exceeded for resources: gigabytes_ssd, volumes_ssd", ("volumes", "volume-gb")),
        ("Quota exceeded for resources: ['core', 'instance'].", ("instances", "cores")),
        ("VCPU limit exceeded", ("cores",)),
        ("The RAM quota has been reached", ("ram",)),
        ("Quota exceeded, too many servers in group", ("uncounted",)),
        ("Quota exceeded, too many key pairs.", ("uncounted",)),
        ("Quota exceeded, too many server groups.", ("uncounted",)),
        ("Maximum number of security groups or rules exceeded", ("uncounted",)),
        ("Maximum number of snapshots allowed (10) exceeded", ("uncounted",)),
        ("Quota exceeded for resources: snapshots", ("uncounted",)),
        ("Quota exceeded for resources: ['security_group_rule'].", ("uncounted",)),
        (
            "Project 9 is over a limit for [Resource class:CUSTOM_METAL is over limit of 3 due to current usage 3]",
            ("uncounted",),
        ),
        ("Quota exceeded", ()),
        ("Insufficient quota for this request", ()),
    ],
)
def test_names_the_resources_of_a_quota_text(text: str, resources: tuple[str, ...]) -> None:
    assert is_quota_text(text)
    assert quota_resources(text) == resources
    assert quota_resources(text.upper()) == resources


@pytest.mark.parametrize(
    "text",
    [
        "No valid host was found. ",
        "Policy doesn't allow os_compute_api:servers:create to be performed.",
        "Maximum number of metadata items exceeds 128",
        "Build of instance 12 aborted: Failed to allocate the network(s), not rescheduling.",
        "ports: cores, ram and volumes are fine [port, volumes]",
        "Too many requests",
        "Rate limit exceeded",
        "Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures",
        "Quota class 7 could not be found.",
        "",
    ],
)
def test_other_texts_are_not_about_quota(text: str) -> None:
    assert not is_quota_text(text)
    assert quota_resources(text) == ()
