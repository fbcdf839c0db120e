# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Pool, Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits
from ansible_collections.stackci.nodepool.plugins.module_utils.model.zuul.zuul_names import (
    ZuulProject,
    zuul_endpoint,
    zuul_provider,
    zuul_providers,
)


def provider(*pools, **more):
    return Provider("west", cloud="a cloud", pools={name: Pool(name, limits=Limits({})) for name in pools}, **more)


def test_canonical_names_are_quoted_as_zuul_quotes_them():
    project = ZuulProject("example.org/org/config", "org", "main")
    assert project.canonical("debian 12/x") == "example.org%2Forg%2Fconfig/debian+12%2Fx"


def test_an_endpoint_is_a_region_of_a_connection():
    assert zuul_endpoint(provider(region_name="R1")) == "a+cloud/a+cloud-R1"
    assert zuul_endpoint(provider()) == "a+cloud/a+cloud-None"


def test_each_pool_becomes_a_provider():
    assert zuul_provider(provider("main"), "main") == "west"
    assert zuul_providers(provider("main")) == ["west"]
    assert zuul_providers(provider("b", "a")) == ["west-a", "west-b"]
