# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Surveys of AWX and the answers to them (``SurveyJobTemplateMixin`` in ``awx/main/models/mixins.py``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Answers = Mapping[str, Any]
Survey = Mapping[str, Any]
QUESTIONS = {
    "text": str,
    "textarea": str,
    "password": str,
    "multiplechoice": str,
    "multiselect": str,
    "integer": int,
    "float": float,
}
TEXTS = ("text", "textarea", "password")
NUMBERS = {"integer": (int,), "float": (float, int)}
"""Type of a question → the types of its answer. A truth value is no number for AWX, and neither is "7"."""


def survey_problem(survey: Mapping[str, Any]) -> str | None:
    """What is wrong with a survey."""
    for key, expected in (("name", str), ("description", str), ("spec", list)):
        if not isinstance(survey.get(key), expected):
            return f"Field '{key}' is missing from survey spec, or of another type."
    if not survey["spec"]:
        return "'spec' doesn't contain any items."
    seen = set()
    for question in survey["spec"]:
        for key, kind in (("type", str), ("question_name", str), ("variable", str), ("required", bool)):
            if not isinstance(question.get(key), kind):
                return f"'{key}' missing from survey question, or of another type: {question}"
        if question["variable"] in seen:
            return f"'variable' '{question['variable']}' duplicated in survey question"
        seen.add(question["variable"])
        if problem := _question_problem(question):
            return problem
    return None


def _question_problem(question: Mapping[str, Any]) -> str | None:
    if question["type"] not in QUESTIONS:
        return f"'{question['type']}' is not one of the allowed question types"
    default = question.get("default", "")
    if default != "" and not isinstance(default, QUESTIONS[question["type"]]):
        return f"Default value {default!r} expected to be {question['type']}"
    for key in ("min", "max"):
        if question.get(key) is not None and not isinstance(question[key], int):
            return f"The {key} limit expected to be integer."
    if question["type"] in ("multiplechoice", "multiselect"):
        choices = question.get("choices")
        if not choices or not isinstance(choices, str | list):
            return f"Survey question of type {question['type']} must specify choices."
        listed = choices.splitlines() if isinstance(choices, str) else choices
        if any(item not in listed for item in default.splitlines()):
            return "Default choice must be answered from the choices listed."
    return None


def launch_variables(
    given: Answers, survey: Survey | None, asks_variables: bool
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The variables of a job that is launched, those that AWX ignores, and what it says about the answers.

    A question that must be answered needs an answer even if it has a default. A default that its own question would
    refuse, such as an empty text for a number, is left out.
    """
    questions = _questions(survey)
    taken = {key: value for key, value in given.items() if asks_variables or key in questions}
    ignored = {key: value for key, value in given.items() if key not in taken}
    defaults = {
        key: one["default"]
        for key, one in questions.items()
        if one.get("default") is not None and not any(_problems(one, one["default"]))
    }
    return {**defaults, **taken}, ignored, [*_survey_problems(given, questions)]


def answers_problem(
    answers: Answers, survey: Survey | None, asks_variables: bool, required: bool = True
) -> dict[str, Any]:
    """What is wrong with variables that a schedule, or a node of a workflow, starts a template with.

    :param required: False for a node of a workflow: the workflow may have the missing answers.
    """
    questions, problems = _questions(survey), {}
    if wrong := [*_survey_problems(answers, questions, required)]:
        problems["variables_needed_to_start"] = wrong
    if not asks_variables and (unknown := [key for key in answers if key not in questions]):
        problems["extra_data"] = [f"Variables {', '.join(unknown)} are not allowed on launch."]
    return problems


def _questions(survey: Survey | None) -> dict[str, Mapping[str, Any]]:
    return {question["variable"]: question for question in (survey or {}).get("spec", [])}


def _survey_problems(
    answers: Answers, questions: Mapping[str, Mapping[str, Any]], required: bool = True
) -> Iterator[str]:
    for key, question in questions.items():
        if key in answers:
            yield from _problems(question, answers[key])
        elif question["required"] and required:
            yield f"'{key}' value missing"


def _problems(question: Mapping[str, Any], value: Any) -> Iterator[str]:
    """What AWX says about one answer."""
    key, kind = question["variable"], question["type"]
    if kind in TEXTS and not isinstance(value, str):
        yield _no(value, key, "a string")
    elif kind in NUMBERS and type(value) not in NUMBERS[kind]:
        yield _no(value, key, "an integer" if kind == "integer" else "a numeric type")
    elif kind in TEXTS or kind in NUMBERS:
        yield from _size_problems(question, value, len(value) if kind in TEXTS else value)
    elif kind == "multiselect" and not isinstance(value, list):
        yield f"'{key}' value is expected to be a list."
    else:
        listed = question["choices"]
        listed = listed.splitlines() if isinstance(listed, str) else listed
        wrong = [one for one in (value if kind == "multiselect" else [value]) if one not in listed]
        yield from (_no(one, key, f"one of {listed}") for one in wrong)


def _no(value: Any, key: str, told: str) -> str:
    return f"Value {value} for '{key}' expected to be {told}."


def _size_problems(question: Mapping[str, Any], value: Any, size: float) -> Iterator[str]:
    least, most = question.get("min"), question.get("max")
    if least not in (None, "") and size < least:
        length = f"length is {size} " if isinstance(value, str) else ""
        yield f"'{question['variable']}' value {value} is too small ({length}must be at least {least})."
    if most not in (None, "") and size > most:
        yield f"'{question['variable']}' value {value} is too large (must be no more than {most})."
