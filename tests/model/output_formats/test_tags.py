"""Answers between the XML tags that a prompt asks for; tags of its own material and of HTML ask for nothing."""

import re
import time
from typing import Any

import pytest

from mockserver.core.generation import Message
from mockserver.model.output_formats.tags import wanted_tags
from mockserver.model.schema import object_of
from tests.support.prompts import answer_to, chat

TEXT = {"type": "string"}
EVALUATION = """Output your evaluation in the following format:

<evaluation>PASS, NEEDS_IMPROVEMENT, or FAIL</evaluation>
<feedback>
What needs improvement and why.
</feedback>"""
ROUTE = """Select the best team from these options: ['billing', 'account']
Explain your reasoning, then select in this XML format:

<reasoning>
Why this team.
</reasoning>

<selection>
The chosen team name
</selection>"""
TASKS = """Return your response in this format:
<analysis>
What you understand
</analysis>
<tasks>
    <task>
    <type>formal</type>
    <description>What to do</description>
    </task>
</tasks>"""


@pytest.mark.parametrize(
    "text, form",
    [
        (EVALUATION, {"evaluation": {"const": "PASS"}, "feedback": TEXT}),
        (ROUTE, {"reasoning": TEXT, "selection": {"enum": ["billing", "account"]}}),
        (
            TASKS,
            {
                "analysis": TEXT,
                "tasks": object_of({"task": object_of({"type": {"const": "formal"}, "description": TEXT})}),
            },
        ),
        ("Think it through inside <thinking></thinking> tags.", {"thinking": TEXT}),
        ("Say 'good' or 'bad' in <verdict> tags.", {"verdict": {"const": "good"}}),
        ("Output valid JSON inside <out></out> tags.", {"out": {"type": "object"}}),
        ("Think in <why></why> tags. Put the answer in <json> tags.", {"why": TEXT, "json": {"type": "object"}}),
        ('Use this format:\n<result>\n{"age": 0}\n</result>', {"result": {"type": "object"}}),
        ("Here is a <text>long story</text>. Put your answer between <answer> and </answer>.", {"answer": TEXT}),
        ("Summarize what stands in <text> tags. <text>A story</text>", None),
        ("What does the <div> tag do?", None),
        ("Write a page with <p> tags", None),
    ],
)
def test_what_a_prompt_wants_between_tags_is_known(text: str, form: dict[str, Any] | None) -> None:
    assert wanted_tags(text) == (form and object_of(form))


def test_an_answer_has_the_tags_in_their_order_and_the_verdict_that_ends_a_loop() -> None:
    assert re.fullmatch(
        r"<evaluation>PASS</evaluation>\n\n<feedback>\n.+\n</feedback>", answer_to(chat(Message("user", EVALUATION)))
    )
    pattern = (
        r"<analysis>\n.+\n</analysis>\n\n<tasks>\n<task>\n<type>formal</type>\n<description>\n.+\n</description>\n"
    )
    assert re.match(pattern, answer_to(chat(Message("user", TASKS))))
    told = answer_to(
        chat(Message("system", "Put your answer in <answer> tags."), Message("user", "Tell me about tides"))
    )
    assert re.fullmatch(r"<answer>\n.+\n</answer>", told)
    keys = "Jason is 25 years old. Write only valid JSON with the keys name and age inside <out></out> tags."
    assert answer_to(chat(Message("user", keys))) == '<out>\n{\n  "name": "Jason",\n  "age": 25\n}\n</out>'
    routed = answer_to(chat(Message("user", f"{ROUTE}\n\nTicket: I cannot get into my account")))
    assert routed.endswith("<selection>account</selection>")


@pytest.mark.parametrize(
    "text",
    [f"{EVALUATION}<a>" * 2_000, "put in <a" * 20_000 + "</a>", "put in <a></a>" * 9_000, "format:\n<a>or or " * 9_000],
)
def test_a_hostile_prompt_takes_no_time(text: str) -> None:
    began = time.process_time()
    wanted_tags(text)
    assert time.process_time() - began < 1
