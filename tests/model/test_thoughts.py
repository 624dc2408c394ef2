"""Reasoning that is shown: how limits, usage, stubs and faults treat it."""

import pytest

from mockserver.core.generation import Effort, Generation, GenerationRequest, Limits, Output, Prompt, Tool, ToolChoice
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.model_output import with_changed_choices
from mockserver.faults.parse_faults import read_faults
from mockserver.model.generate import generate
from mockserver.model.prepared import Counts, ScriptedOutput, to_generation
from mockserver.model.prose import think
from mockserver.model.tokens import token_count

TURKEY = Prompt("What is the capital of Turkey?", "What is the capital of Turkey?", 7, chat=True)
ALOUD = GenerationRequest("m", (TURKEY,), output=Output(reasoning=True), effort="low")
SILENT = ALOUD._replace(output=Output())


def faulted(generation: Generation, fault: str) -> Generation:
    (read,) = read_faults(fault)
    change = FAULTS[read.kind].says
    assert change is not None
    return with_changed_choices(generation, read, change)


@pytest.mark.parametrize("count", [0, 1, 2, 17, 18, 19, 40, 500, 4095])
def test_a_thought_has_as_many_tokens_as_are_wanted(count: int) -> None:
    thought = think(TURKEY, count, key=7)
    assert len(thought) == count == token_count("".join(thought))


def test_a_thought_names_its_subject_and_ends_a_sentence() -> None:
    thought = "".join(think(TURKEY, 60, key=7))
    assert "the capital of Turkey" in thought
    assert thought.endswith((".", "OK"))


def test_thoughts_differ_by_key_and_not_by_time() -> None:
    assert think(TURKEY, 60, key=7) == think(TURKEY, 60, key=7) != think(TURKEY, 60, key=8)


def test_what_is_said_is_the_same_whether_thoughts_are_shown_or_not() -> None:
    aloud, silent = generate(ALOUD, 42), generate(SILENT, 42)
    (shown,), (hidden,) = aloud.choices, silent.choices
    assert (shown.text, shown.reasoning) == (hidden.text, hidden.reasoning)
    assert (len(shown.thoughts), len(hidden.thoughts)) == (shown.reasoning, 0)
    assert aloud.usage == silent.usage
    assert (shown.steps, hidden.steps) == (shown.reasoning + shown.answer_tokens, shown.answer_tokens)


@pytest.mark.parametrize(("effort", "least", "most"), [("none", 0, 0), ("low", 48, 159), ("high", 640, 1535)])
def test_the_effort_decides_how_much_is_thought(effort: Effort, least: int, most: int) -> None:
    (choice,) = generate(ALOUD._replace(effort=effort), 42).choices
    assert least <= len(choice.thoughts) <= most


def test_a_limit_cuts_thoughts_before_anything_is_said() -> None:
    whole, cut = (generate(ALOUD._replace(limits=limits), 42) for limits in (Limits(), Limits(max_tokens=20)))
    (thinks,), (breaks_off,) = whole.choices, cut.choices
    assert list(breaks_off.thoughts) == list(thinks.thoughts)[:20]
    assert (breaks_off.text, breaks_off.finish_reason, cut.usage.completion_tokens) == ("", "length", 20)


def test_a_budget_cuts_thoughts_short_and_leaves_the_answer_alone() -> None:
    whole, capped = (generate(ALOUD._replace(budget=budget), 42) for budget in (None, 7))
    (thinks,), (breaks_off,) = whole.choices, capped.choices
    assert list(breaks_off.thoughts) == list(thinks.thoughts)[:7]
    assert (breaks_off.reasoning, breaks_off.text) == (7, thinks.text)
    assert generate(ALOUD._replace(budget=10**6), 42) == whole._replace(request=ALOUD._replace(budget=10**6))


def test_tools_are_called_after_thoughts() -> None:
    tools = (Tool("get_capital", "The capital of a country", {"properties": {"country": {"type": "string"}}}),)
    (choice,) = generate(ALOUD._replace(tools=tools, tool_choice=ToolChoice("required")), 42).choices
    assert choice.thoughts
    assert choice.steps == len(choice.thoughts) + choice.calls[0].steps


def test_a_stub_is_thought_aloud_and_counted() -> None:
    spoken = to_generation(ALOUD, ScriptedOutput("Ankara.", reasoning="Easy."), 42)
    (choice,) = spoken.choices
    assert ("".join(choice.thoughts), choice.text) == ("Easy.", "Ankara.")
    assert spoken.usage.unseen is not None
    assert spoken.usage.unseen.reasoning == token_count("Easy.")
    assert spoken.usage.completion_tokens == token_count("Easy.") + token_count("Ankara.")


def test_a_stub_states_other_counts_of_its_thoughts_where_it_says_so() -> None:
    usage = to_generation(
        ALOUD, ScriptedOutput("Ankara.", reasoning="Easy.", counts=Counts(reasoning_tokens=9)), 42
    ).usage
    assert usage.unseen is not None
    assert usage.unseen.reasoning == 9


def test_thoughts_of_a_stub_are_left_out_where_nobody_is_shown_any() -> None:
    spoken = to_generation(SILENT._replace(effort=None), ScriptedOutput("Ankara.", reasoning="Easy."), 42)
    assert (spoken.choices[0].thoughts, spoken.usage.unseen) == ((), None)


def test_a_fault_within_the_thoughts_leaves_nothing_said() -> None:
    cut = faulted(generate(ALOUD, 42), '{ kind = "finish", reason = "length", after_token = 5 }')
    (choice,) = cut.choices
    assert (len(choice.thoughts), choice.reasoning, choice.text) == (5, 5, "")
    assert cut.usage.unseen is not None
    assert (cut.usage.completion_tokens, cut.usage.unseen.reasoning) == (5, 5)


def test_a_fault_behind_the_thoughts_leaves_them_and_some_of_the_text() -> None:
    whole = generate(ALOUD, 42)
    (thinks,) = whole.choices
    place = len(thinks.thoughts) + 3
    (choice,) = faulted(whole, f'{{ kind = "finish", reason = "length", after_token = {place} }}').choices
    assert choice == thinks._replace(ids=thinks.ids[:3], texts=thinks.texts[:3], finish_reason="length", stop=None)


@pytest.mark.parametrize("kind", ["silence", "refusal"])
def test_who_says_nothing_has_thought_all_the_same(kind: str) -> None:
    whole = generate(ALOUD, 42)
    (choice,) = faulted(whole, f'{{ kind = "{kind}" }}').choices
    assert (choice.thoughts, choice.text) == (whole.choices[0].thoughts, "")


@pytest.mark.parametrize("kind", ["repeat", "whitespace"])
def test_who_gets_stuck_has_thought_before(kind: str) -> None:
    whole = generate(ALOUD._replace(limits=Limits(max_tokens=300)), 42)
    (thinks,) = whole.choices
    place = len(thinks.thoughts) + 2
    (choice,) = faulted(whole, f'{{ kind = "{kind}", after_token = {place} }}').choices
    assert choice.thoughts == thinks.thoughts
    assert list(choice.texts[:2]) == list(thinks.texts[:2])
    assert len({*choice.texts[3:]}) == 1
