"""Speeches: what a model said in a recorded answer of the Responses API, also in one that broke off."""

import pytest

from mockserver.recordings import events_of, scripted_output
from tests.support.goldens import FIXTURES, golden

STREAMS = sorted(
    f"{path.parent.parent.name}/{path.parent.name}"
    for path in FIXTURES.glob("*/responses-*/response.sse")
    if "failed" not in path.parent.name
)


@pytest.mark.parametrize("case", STREAMS)
def test_of_a_stream_that_broke_off_counts_what_was_sent(case: str) -> None:
    events = events_of(golden(case).answer, streamed=True)
    whole, said = scripted_output(events), ""
    assert whole is not None
    for sent in range(1, len(events)):
        scripted = scripted_output(events[:sent])
        if scripted is None:
            assert not said
            continue
        assert whole.text.startswith(scripted.text)
        assert len(scripted.text) >= len(said)
        assert scripted.calls == whole.calls[: len(scripted.calls)]
        assert whole.reasoning.startswith(scripted.reasoning)
        assert scripted.text == whole.text or scripted.finish_reason is None
        said = scripted.text
    assert said == whole.text
