# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules for messages: what a message of the catalogue must not be like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.messages import ERROR, LINE, PROBLEM, REASON, WARNING, Message

LONGEST = 360
"""Characters of a message, with each of its values counted as one word of six letters."""

STILTED = {
    r"\bany ?more\b": "say 'no longer'",
    r"\ball the same\b": "say 'anyway'",
    r"\banew\b|\bafresh\b|\bonce more\b": "say 'again'",
    r"\bmend(s|ed)?\b": "say 'correct' or 'fix'",
    r"\bturn(s|ed)? up\b": "say 'appear'",
    r"\bto be had\b|\bcannot be had\b": "say 'is not available'",
    r"\bnothing comes of\b|\bc[oa]me to nothing\b": "say 'failed'",
    r"\bworth a look\b|\bmet with\b|\bunforeseen\b": "say what is wrong",
    r"\bnone at all\b": "say 'none'",
    r"\bhas to be\b|\bhave to be\b|\bought to\b": "say 'must'",
    r"\bcannot be told\b|\bnot be told from\b": "say 'unknown'",
    r"\bsee whether\b|\bsee that\b|\blook into\b": "say 'check'",
    r"(?<!here )\bis no (?!longer\b|more\b)": "say 'is not a'",
    r", (and|which) \w+( \w+){0,4} (has|is|does|was) not$": "repeat the verb with its object",
    r"\b(what|that) (it|he) tells\b|\btells of\b|\bdoes not tell\b": "say 'reports' or 'shows'",
    r"\blately\b": "say 'recently'",
    r"\bfor ever\b": "say 'forever'",
    r"\bin force\b": "say 'in use'",
    r"\bunder way\b": "say 'in progress'",
    r"\bthe former one": "say 'the previous one'",
    r"\bleft alone\b": "say 'not touched'",
    r"\bas it is now\b|\bthat of a\b|\bwhat of it\b|\bof which\b": "name the thing",
    r"\bat any moment\b": "say 'now'",
    r"^(?:most|least) (?!of\b)": "say 'maximum' or 'minimum'",
    r"\bhas (?:not both|otherwise)\b": "say 'does not have' or 'does differently'",
    r"\bhas \w+ed {value} ago\b": "say it in the past tense",
    r"\btype(?=:? \S+ \S*[\d/{-])": "say 'run'",
    r"\bwithout a word\b|^no word$": "say 'without a message'",
    r"\bone's own\b": "say 'your own'",
    r"\bheeds?\b": "say 'respects'",
    r"\bgone on with\b|\brepeat to go on\b": "say 'continue'",
    r"^made of\b": "say 'made from'",
    r"\banother \w+ than\b": "say 'a different' or 'other than'",
}
"""Phrases that are not plain English → what to do instead."""

NAMES = frozenset(
    "ZooKeeper AWX Ansible Nodepool Zuul Ctrl RRULE INTERVAL COUNT UNTIL FREQ STATSD_HOST STATSD_PORT TLS API HTTP"
    " STATUS FAILED ACTIVE TMP_DIR PEM JSON YAML GET POST This I Support Connection No Network Tunnel Hostname"
    " DTSTART PROVIDERS WAITING LABELS REQUESTS Exit".split()
)
"""Words that begin with a capital letter anywhere in a sentence, and other programs' sentences that are recognised."""

_LONE_COUNT = re.compile(r"(?<!of ){len\([^{}]*\)} (?!characters\b|bytes\b)[a-z]{3,}s\b")
_PART_OF_WHOLE = re.compile(r"{[^{}]*} of {(?!amount\b)[^{}]*} (?!does\b)(?:[a-z-]+ )?[a-z-]{3,}s\b")
_LONE_COUNT_OF_PAGE = re.compile(
    r"{{(?![^{}]*\|amount\b)[^{}]*(?:failures|length|\|number)[^{}]*}} (?:[a-z-]+ )?[a-z-]{3,}s\b"
)
_OWN_PLURAL = re.compile(r"'s' if|else 's'|== 1 else '|> 1 else ''")
_LIST_WITH_ONE_VERB = re.compile(r"\.join\([^{}]*\)} (has|is|was|does)\b")
_REMEDY = re.compile(r": \S|: {|; (did you mean|expected|use|see|run)\b|{[^{}]*}$")


def faults(message: Message) -> Iterator[str]:
    """Return what is wrong with a message; nothing for a good one."""
    text, plain = message.text, _without_values(message.text)
    for pattern, remedy in STILTED.items():
        found = re.search(pattern, plain, re.IGNORECASE)
        if found:
            yield f"{found.group()!r}: {remedy}"
    if _LONE_COUNT.search(text) or (message.file.endswith(".py") and _OWN_PLURAL.search(text)):
        yield "write numbers with model.lines.amount, and words that depend on a number with word_for"
    if _PART_OF_WHOLE.search(text):
        yield "write a part of a number of things with model.lines.part_of"
    if message.file.endswith(".html") and _LONE_COUNT_OF_PAGE.search(text):
        yield "write numbers with the filter amount"
    if _LIST_WITH_ONE_VERB.search(text):
        yield "write lists with model.lines.joined, and their verb with word_for"
    is_file = "\n" in text or "  # " in text
    if not is_file and re.search(r"\S  +\S", plain):
        yield "two spaces"
    if not is_file and len(plain) > LONGEST:
        yield f"{len(plain)} characters, {LONGEST} at most: say less, or say it in the documentation"
    if message.kind == PROBLEM and not _is_description(plain) and not _REMEDY.search(text):
        yield "name the remedy after a colon"
    if message.file.endswith(".py"):
        yield from _form(message, plain)


def _form(message: Message, plain: str) -> Iterator[str]:
    """Return the faults of the form: a message is a clause that may stand behind a subject and a colon."""
    if message.kind not in (ERROR, PROBLEM, WARNING, LINE, REASON) or _is_description(plain):
        return
    first = re.split(r"[^\w]", plain, maxsplit=1)[0]
    if first[:1].isupper() and first not in NAMES:
        yield f"begin with a small letter, not with {first!r}"
    if plain.endswith((".", "!")):
        yield "end without a full stop"
    if plain.endswith("?") and "did you mean" not in plain:
        yield "say what to check instead of asking"


def _is_description(plain: str) -> bool:
    """Return whether this describes a key or a metric: whole sentences."""
    return plain[:1].isupper() and plain.endswith(".")


def _without_values(text: str) -> str:
    text = re.sub(r"{{.*?}}", "{value}", text, flags=re.DOTALL)
    text = re.sub(r"{%.*?%}", "", text, flags=re.DOTALL)
    return re.sub(r"{[^{}]*}", "{value}", text)
