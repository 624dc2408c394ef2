"""Recordings whose end is missing, since what wrote them, or the answer itself, was broken off."""

import json
from typing import Any

import pytest

from mockserver.recordings import Lost, Recorded, RecordingError, events_of, scripted_output
from mockserver.recordings.traffic import read_recording
from tests.support.goldens import FIXTURES, golden


def entry(number: int) -> dict[str, Any]:
    request = {"method": "GET", "url": f"http://127.0.0.1/v1/models/{number}", "headers": []}
    return {"request": request, "response": {"status": 200, "headers": [], "content": {"text": "é{}"}}}


@pytest.mark.parametrize("indent", [None, 2])
def test_of_a_torn_archive_the_whole_entries_are_read(indent: int | None) -> None:
    data = json.dumps({"log": {"entries": [entry(1), entry(2), entry(3)]}}, indent=indent, ensure_ascii=False).encode()
    begins = [data.index(b"models/%d" % number) for number in (2, 3)]
    for end in range(begins[0], len(data)):
        read_now = read_recording(data[:end])
        whole = [each.path for each in read_now if isinstance(each, Recorded)]
        assert whole == [f"/v1/models/{number + 1}" for number in range(len(whole))]
        assert 1 + (end > begins[1]) <= len(whole)
        torn = [each.place for each in read_now if isinstance(each, Lost)]
        assert torn in ([], [f"entry {len(whole) + 1}"])


@pytest.mark.parametrize(
    "data", [b'{"log": {"entries": [{"request": {', b'{"log": {"version": "1.2"', b'{"log": {"entries": [']
)
def test_a_torn_archive_without_any_whole_entry_is_no_recording(data: bytes) -> None:
    with pytest.raises(RecordingError):
        read_recording(data)


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
