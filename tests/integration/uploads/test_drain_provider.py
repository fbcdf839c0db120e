# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The removal of a provider by the playbook, beside a launcher and a builder with a simulated cloud."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.support.ansible_run import command, forking
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE, Builder
from tests.support.launcher_case import Site, label, pool, provider

PLAYBOOK = "stackci.nodepool.drain_provider"
SMALL = label("small", diskimage=IMAGE)


def variables(site: Site, **more: Any) -> str:
    given = {"nodepool_config": str(site.config), "drain_provider": "one", "drain_pause": 1, "drain_wait": 0}
    return json.dumps({**given, **more})


def drain(site: Site, *words: str, **more: Any) -> tuple[bool, str]:
    """Whether the playbook went through, and what it said."""
    done = command("ansible-playbook", PLAYBOOK, "-e", variables(site, **more), *words, folder=site.folder, timeout=180)
    return done.returncode == 0, " ".join((done.stdout + done.stderr).split())


def configure(builder: Builder, **one: Any) -> None:
    """Two providers; *one* are the options of the first, which is left out without any."""
    options = {"diskimages": [{"name": IMAGE}], "labels": [SMALL], **one}
    place = pool("main", labels=options.pop("labels"), **options.pop("limits", {}))
    takers = [provider("one", place, **options)] if one else []
    builder.configure(*takers, provider("two", pool("main", label("medium"))))


@pytest.mark.long
def test_a_provider_is_removed_in_the_order_of_the_manual(site: Site, builder: Builder):
    configure(builder, limits={"max-servers": 4})
    build = builder.build()
    builder.run()
    request = site.requestor.ask("small")
    site.run()
    (node,) = site.requestor.nodes_of(request)
    assert (builder.states("one"), site.requestor.node(node)["provider"]) == (["ready"], "one")

    went, said = drain(site)
    assert not went and "set max-servers to 0 in" in said and "for provider one, pools main" in said
    closed = {"limits": {"max-servers": 0}}
    configure(builder, **closed)
    went, said = drain(site)
    assert not went and f"1 left: {node} (ready)" in said and "See that the launcher runs" in said

    # It waits for the launcher, which waits for the user of the node.
    words = ["ansible-playbook", PLAYBOOK, "-e", variables(site, drain_wait=600)]
    with subprocess.Popen(
        words,
        cwd=site.folder,
        env=forking(site.folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as waiting:
        assert waiting.stdout is not None
        seen = ""
        while f"1 left: {node} (ready)" not in seen:
            line = waiting.stdout.readline()
            assert line, seen
            seen += line
        site.requestor.write_node(node, state="used")
        site.run()
        assert site.requestor.nodes() == {}
        said = " ".join((seen + waiting.communicate(timeout=180)[0]).split())
    assert waiting.returncode != 0 and "nothing is left" in said
    assert "set diskimages to [] in" in said and f"has {IMAGE}" in said

    empty = {**closed, "diskimages": [], "labels": []}
    configure(builder, **empty)
    went, said = drain(site)
    assert not went and f"1 left: {IMAGE} {build.id}/0000000001 (ready)" in said and "See that the builder runs" in said
    builder.run()
    assert builder.in_cloud("one") == {}
    went, said = drain(site)
    assert not went and "remove provider one from" in said

    configure(builder)
    before = site.requestor.tree()
    went, said = drain(site, "--check")
    assert went and "records that would be erased: " in said and site.requestor.tree() == before
    went, said = drain(site)
    assert went and "provider one is removed" in said and "changed=1" in said, said
    assert [path for path in site.requestor.tree() if "one" in path.split("/")] == []
    went, said = drain(site)
    assert went and "nothing of provider one is left, and nothing was erased" in said and "changed=0" in said
    assert eventually(lambda: builder.states("one") == [])


def test_a_provider_must_be_named(site: Site, builder: Builder):
    configure(builder)
    went, said = drain(site, drain_provider="")
    assert not went and "drain_provider is missing" in said
