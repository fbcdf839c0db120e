# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.kinds import call_kind, service_of

UUID = "0b1e3a52-7f0d-4c53-9b0e-0d1c2b3a4f5e"
HEX = "0b1e3a527f0d4c539b0e0d1c2b3a4f5e"


@pytest.mark.parametrize(
    ("method", "url", "kind"),
    [
        ("GET", f"https://nova.example:8774/v2.1/servers/{UUID}", "GET /servers/{id}"),
        ("POST", "https://cloud.example/compute/v2.1/servers", "POST /servers"),
        ("GET", "https://nova.example/v2.1/servers/detail?limit=1000&marker=x", "GET /servers/detail"),
        ("GET", f"https://nova.example/v2/{HEX}/servers/detail", "GET /servers/detail"),
        ("POST", f"https://nova.example/v2.1/servers/{UUID}/action", "POST /servers/{id}/action"),
        ("GET", "https://nova.example/v2.1/flavors/detail", "GET /flavors/detail"),
        ("GET", "https://nova.example/v2.1/flavors/m1.small", "GET /flavors/{id}"),
        ("POST", "https://keystone.example/identity/v3/auth/tokens", "POST /auth/tokens"),
        ("GET", "https://keystone.example/v3", "GET /v3"),
        ("GET", "https://keystone.example/v3/", "GET /v3"),
        ("GET", "https://keystone.example", "GET /"),
        ("GET", "https://neutron.example:9696/v2.0/ports?device_id=1", "GET /ports"),
        ("GET", f"https://neutron.example/v2.0/quotas/{HEX}/details.json", "GET /quotas/{id}/details"),
        ("DELETE", f"https://neutron.example/v2.0/floatingips/{UUID}", "DELETE /floatingips/{id}"),
        ("GET", "https://nova.example/v2.1/limits", "GET /limits"),
        ("GET", f"https://cinder.example/v3/{HEX}/limits", "GET /volume/limits"),
        ("GET", "https://glance.example/v2/images?name=v2", "GET /images"),
        ("GET", "https://nova.example/v2.1/os-availability-zone", "GET /os-availability-zone"),
        ("PUT", f"https://swift.example/v1/AUTH_{HEX}/images/nodepool-1", "PUT /object-store"),
        ("DELETE", "https://cloud.example/swift/v1/images/nodepool-1?x=1", "DELETE /object-store"),
        ("GET", f"https://glance.example/v2/tasks/{UUID}", "GET /tasks/{id}"),
    ],
)
def test_what_differs_from_object_to_object_is_left_out(method: str, url: str, kind: str) -> None:
    assert call_kind(method, url) == kind


@pytest.mark.parametrize(
    ("kind", "service"),
    [
        ("GET /servers/detail", "nova"),
        ("GET /os-availability-zone", "nova"),
        ("GET /limits", "nova"),
        ("GET /volume/limits", "cinder"),
        ("GET /quotas/{id}/details", "neutron"),
        ("POST /floatingips", "neutron"),
        ("GET /images/{id}", "glance"),
        ("POST /tasks", "glance"),
        ("PUT /object-store", "swift"),
        ("POST /auth/tokens", "keystone"),
        ("", "nova"),
    ],
)
def test_a_kind_tells_its_service(kind: str, service: str):
    assert service_of(kind) == service
