# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The owners of troubles: who can end a trouble. The launcher decides by the owner alone who waits and who fails."""

from __future__ import annotations

from collections.abc import Iterable

REQUEST = "request"
LABEL = "label"
IMAGE = "image"
ACCOUNT = "account"
CAPACITY = "capacity"
NETWORK = "network"
CLOUD = "cloud"
US = "us"
UNKNOWN = "unknown"

SENTENCES = {
    REQUEST: "the request asks for something impossible: its requestor must change it",
    LABEL: "the label or its pool is configured with something impossible: change nodepool.yaml",
    IMAGE: "the image does not work with the flavor, or one of them is unusable: change the image or the flavor",
    ACCOUNT: "the cloud does not allow this account to do it: change the credentials or the policy",
    CAPACITY: "a resource is exhausted (quota, hosts, addresses, ports, volumes or floating IPs): the launcher retries",
    NETWORK: "servers get no network, or cannot be reached over it: change the network or its settings",
    CLOUD: "the API of the cloud is failing: the launcher retries",
    US: "a limit or a task of this launcher: it continues by itself",
    UNKNOWN: "the cause is not known: the launcher retries",
}
"""Each owner with one sentence for people: whose fault it is, and who must act."""

OWNERS = tuple(SENTENCES)
_PROMISES = ("the launcher retries", "it continues by itself")


def sentence_of(owner: str, *, over: bool) -> str:
    """Return the sentence of an owner.

    :param over: True for a request that has failed: no launcher continues with it.
    """
    fault, colon, then = SENTENCES[owner].partition(": ")
    return fault if over and then in _PROMISES else f"{fault}{colon}{then}"


def foremost(owners: Iterable[str | None]) -> str:
    """Return the owner that stands for several troubles together: the one that somebody must act on comes first."""
    known = {owner for owner in owners if owner in SENTENCES}
    return next((owner for owner in OWNERS if owner in known), UNKNOWN)
