"""Speeches: what a model said in a recorded answer of the Responses API, also in one that broke off."""

import pytest

from mockserver.recordings.model_output import speech_of
from mockserver.recordings.recorded import events_of
from tests.support.goldens import FIXTURES, golden

STREAMS = sorted(
    f"{path.parent.parent.name}/{path.parent.name}"
    for path in FIXTURES.glob("*/responses-*/response.sse")
    if "failed" not in path.parent.name
)


@pytest.mark.parametrize("case", STREAMS)
def test_of_a_stream_that_broke_off_counts_what_was_sent(case: str) -> None:
    events = events_of(golden(case).answer, streamed=True)
    whole, said = speech_of(events), ""
    assert whole is not None
    for sent in range(1, len(events)):
        speech = speech_of(events[:sent])
        if speech is None:
            assert not said
            continue
        assert whole.text.startswith(speech.text)
        assert len(speech.text) >= len(said)
        assert speech.calls == whole.calls[: len(speech.calls)]
        assert whole.reasoning.startswith(speech.reasoning)
        assert speech.text == whole.text or speech.finish_reason is None
        said = speech.text
    assert said == whole.text
