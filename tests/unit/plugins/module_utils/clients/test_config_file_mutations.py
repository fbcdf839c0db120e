# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a file holds, there is a configuration or a ConfigError, never anything else."""

from __future__ import annotations

import contextlib

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.schema import NODEPOOL_SCHEMA
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from tests.support.config_texts import keys_of, parse, valid_document
from tests.support.effort import examples

KEYS = sorted(keys_of(NODEPOOL_SCHEMA))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, -1, 10**400, 0.0, -0.0, 1e300, float("nan"), float("inf")])
    | st.sampled_from(["", "debian", "small", "rocky", "base", "east", "{", "'", "static", "%(NODEPOOL_X)", "::1"])
    | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(value, path=()):
    """All paths into *value*."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield from places(item, (*path, step))


@st.composite
def mutations(draw):
    """The valid document with one to three places replaced, removed, doubled or added to."""
    document = valid_document()
    for _unused in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in places(document) if path]))
        holder = document
        for step in path[:-1]:
            holder = holder[step]
        kind = draw(st.sampled_from(["replace", "remove", "double", "add"]))
        if kind == "remove":
            del holder[path[-1]]
        elif kind == "double" and isinstance(holder, list):
            holder.append(holder[path[-1]])
        elif kind == "add" and isinstance(holder, dict):
            holder[draw(st.sampled_from(KEYS))] = draw(VALUES)
        else:
            holder[path[-1]] = draw(VALUES)
    return document


def judge(run):
    """The configuration, or None after a ConfigError whose sentences are sound."""
    try:
        config = run()
    except ConfigError as error:
        assert_sound(error.problems)
        return None
    assert isinstance(config, NodepoolConfig)
    return config


def assert_sound(problems):
    """Each sentence once, on one line, beginning with a file."""
    assert problems
    assert len(set(problems)) == len(problems)
    for problem in problems:
        assert problem.startswith(("nodepool.yaml:", "secure.conf:"))
        assert "\n" not in problem
        assert problem.encode()


@settings(max_examples=examples(80), deadline=None)
@given(mutations(), st.booleans())
def test_a_changed_document(document, strict):
    config = judge(lambda: parse(document, strict=strict))
    if config is not None:
        for provider in config.providers.values():
            for pool in provider.pools.values():
                for label in pool.labels.values():
                    assert config.image_settings(provider, label).name


@settings(max_examples=examples(60), deadline=None)
@given(VALUES)
def test_any_document(value):
    judge(lambda: parse(value if isinstance(value, dict) else {"providers": value}))


@settings(max_examples=examples(60), deadline=None)
@given(VALUES)
def test_any_secure_document(value):
    secure = {"zookeeper-servers": value, "diskimages": value}
    judge(lambda: parse(valid_document(), yaml.safe_dump(secure)))


@settings(max_examples=examples(100), deadline=None)
@given(st.text(alphabet="ab:-[]{}&*<!'\"#%|> \n\t,?@\x00é\u2028", max_size=40), st.text(max_size=20))
def test_any_text(main, secure):
    with contextlib.suppress(ConfigError):
        parse_config(main, secure_text=secure, environ={})
