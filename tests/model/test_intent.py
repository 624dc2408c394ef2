"""What a prompt asks for: language, subject, the kind and length of the answer; and whose turn it is in a dialogue."""

from time import process_time

import pytest

from mockserver.core.generation import Prompt
from mockserver.core.seeding import Draws
from mockserver.model.intent import detect_intent, is_begun, last_turn, turn_label
from mockserver.model.prose import write_prose
from tests.support.prompts import text_of


@pytest.mark.parametrize(
    "topic, language, subject",
    [
        ("What is the capital of Turkey?", "en", "the capital of Turkey"),
        ("Please explain asyncio streams to me.", "en", "asyncio streams"),
        ("Расскажи об отпуске в Карелии", "ru", "отпуске в Карелии"),
        ("Was ist der Unterschied zwischen Listen und Tupeln?", "de", "Unterschied zwischen Listen und Tupeln"),
        ("Что такое Kubernetes?", "ru", "Kubernetes"),
        ("Compare Node.js and Deno. Be brief.", "en", "Node.js and Deno"),
        ("Write a mail to ann@example.com for me", "en", "a mail to ann@example.com"),
        ("Tell me about St. Petersburg.", "en", "St. Petersburg"),
        ("Explain recursion in French", "fr", "recursion"),
        ("Describe Oslo as a JSON object with its rivers", "en", "Oslo"),
        ("List three rivers in JSON format", "en", "three rivers"),
        ("Explain how to parse dates in JSON", "en", "parse dates in JSON"),
        ("日本の庭について教えてください", "ja", "日本の庭"),
        ("서울에 대해 알려줘", "ko", "서울"),
        ("什么是人工智能？", "zh", "人工智能"),
        ("Erkläre mir Photosynthese kurz", "de", "Photosynthese"),
        ("Türkiye'nin başkenti nedir?", "tr", "Türkiye'nin başkenti"),
        ("", "en", "this topic"),
        ("?!", "en", "this topic"),
        ("12345", "en", "12345"),
        ("Current Task: Write a haiku about the sea", "en", "the sea"),
        ("Question: What is the capital of France?", "en", "the capital of France"),
        ("Please answer concisely: what is photosynthesis?", "en", "photosynthesis"),
        ("Reply in one sentence: how do bridges work?", "en", "bridges work"),
        ("**Topic:** volcanoes", "en", "volcanoes"),
        ("Task:\nExplain tides", "en", "tides"),
        ("Тема: вулканы", "ru", "вулканы"),
        ("Rule of thumb: keep it short", "en", "Rule of thumb"),
    ],
)
def test_language_and_subject_are_the_prompts(topic: str, language: str, subject: str) -> None:
    about = detect_intent(topic)
    assert (about.language, about.subject) == (language, subject)


@pytest.mark.parametrize(
    "topic, kind",
    [
        ("Write a Python function that reverses a string", "code"),
        ("How do I sort a list in Python?", "code"),
        ("Напиши функцию сортировки", "code"),
        ("List five ideas for a birthday", "list"),
        ("Explain tides as bullets", "list"),
        ("Перечисли шаги", "list"),
        ("Write a long essay about rivers", "article"),
        ("Answer in one word: is water wet?", "word"),
        ("Summarize it in one sentence", "sentence"),
        ("Briefly, what is entropy?", "brief"),
        ("Hello!", "greeting"),
        ("Hello, please explain recursion to me", "plain"),
        ("Is Python faster than Go?", "plain"),
        ("What is my email address?", "plain"),
        ("Translate 'good morning' to Spanish", "plain"),
    ],
)
def test_the_kind_of_answer_is_the_one_that_is_asked_for(topic: str, kind: str) -> None:
    assert detect_intent(topic).kind == kind


def test_a_length_in_words_or_sentences_is_heard() -> None:
    asked = [detect_intent(text) for text in ("Write 150 words about tea", "In three sentences, why?")]
    assert [(intent.words, intent.sentences) for intent in asked] == [(150, None), (None, 3)]
    assert detect_intent("In 3 sentences, why?").length == 42


def test_the_number_of_things_asked_for_is_heard() -> None:
    assert [detect_intent(text).items for text in ("Give me 3 names", "List five tips", "Explain tides")] == [
        3,
        5,
        None,
    ]


def test_a_prompt_of_a_megabyte_is_read_in_part() -> None:
    about = detect_intent("Explain tides. " + "filler " * 200_000)
    assert about.subject == "tides"


ASKED = "What's the weather in Oslo?"
# As clients and chat templates write a chat out, up to where the model has the word.
WRITTEN_OUT = {
    "AI SDK": "You are helpful.\n\nuser:\n{}\n\nassistant:\n",
    "LlamaIndex": "system: You are helpful.\nuser: {}\nassistant: ",
    "people": "\n\nHuman: {}\n\nAssistant:",
    "people, at length": "User: Hi\nAssistant: Hello!\nUser: {}\nAssistant:",
    "questions and answers": "Q: What is a fjord?\nA: An inlet.\nQ: {}\nA:",
    "a question": "{}\nAnswer:",
    "Vicuna": "A chat between a curious user and an assistant. USER: {} ASSISTANT:",
    "ChatML": "<|im_start|>system\nYou help.<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n",
    "Qwen, without thinking": "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    "Llama 3": "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "Llama 2": "<s>[INST] <<SYS>>\nYou are helpful.\n<</SYS>>\n\n{} [/INST]",
    "Mistral": "<s>[INST] Hi [/INST] Hello!</s>[INST] {} [/INST]",
    "Gemma": "<bos><start_of_turn>user\n{}<end_of_turn>\n<start_of_turn>model\n",
    "Harmony": "<|start|>system<|message|>You help.<|end|><|start|>user<|message|>{}<|end|><|start|>assistant",
    "Phi": "<|system|>\nYou are helpful.<|end|>\n<|user|>\n{}<|end|>\n<|assistant|>\n",
    "GLM": "[gMASK]<sop><|system|>\nYou are helpful.<|user|>\n{}<|assistant|>\n",
    "DeepSeek": "<｜begin▁of▁sentence｜>You are helpful.<｜User｜>{}<｜Assistant｜>",
    "Alpaca": "Below is an instruction.\n\n### Instruction:\n{}\n\n### Response:\n",
}


@pytest.mark.parametrize("written_out", WRITTEN_OUT.values(), ids=WRITTEN_OUT)
def test_a_chat_that_was_written_out_is_about_its_last_turn_and_gives_the_model_the_word(written_out: str) -> None:
    text = written_out.format(ASKED)
    assert (last_turn(text), bool(turn_label(text)), detect_intent(text).subject) == (
        ASKED,
        True,
        "the weather in Oslo",
    )


@pytest.mark.parametrize("written_out", WRITTEN_OUT.values(), ids=WRITTEN_OUT)
def test_it_is_answered_in_the_form_that_the_last_turn_asks_for(written_out: str) -> None:
    text = written_out.format("Write a Python function that reverses a string")
    answer = text_of(write_prose(Prompt(text, text, 9), Draws(1)))
    lead = "" if text[-1] in "\n >" else " "
    assert answer.startswith(lead)
    assert not answer.removeprefix(lead).startswith((" ", "\n"))
    assert "```python\n" in answer


def test_messages_that_langchain_joins_give_nobody_the_word() -> None:
    text = f"System: You are helpful.\nHuman: {ASKED}"
    assert (last_turn(text), bool(turn_label(text)), is_begun(text)) == (ASKED, False, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Once upon a time",
        "He said to the user: hello.\nAnd then he wrote the list:",
        "Here is a table of models:\n| name |\n| gpt |",
        "The superuser: a manual",
        "def answer():",
        "<|im_start|>user\nnobody closes this",
    ],
)
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert (last_turn(text), bool(turn_label(text)), is_begun(text)) == (text, False, False)


def test_a_last_turn_that_says_nothing_leaves_the_whole_text() -> None:
    assert last_turn("User:\nAssistant:") == "User:\nAssistant:"


def test_a_dialogue_of_a_megabyte_is_read_at_its_end() -> None:
    assert last_turn("User: filler\nAssistant: more\n" * 40_000 + f"User: {ASKED}\nAssistant:") == ASKED


@pytest.mark.parametrize("piece", ["[[ ", "0", "12345", "- ", "Task: ", "St. ", "about "])
def test_the_subject_of_the_most_hostile_text_is_found_in_some_milliseconds(piece: str) -> None:
    text = ("1" + piece * 1200)[:1200]
    began = process_time()
    assert detect_intent(text).subject
    assert process_time() - began < 0.05
