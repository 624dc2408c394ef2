"""Views of made-up exchanges."""

from typing import Any

from mockserver.state.journal.views import View

BODY: dict[str, Any] = {"model": "m", "prompt": "hello"}


def exchange(number: int, arrived: float, seconds: float = 0.01, **told: Any) -> View:
    """An exchange that arrived at an instant and took so many seconds; `told` replaces what is usual otherwise."""
    request = {"headers": {}, "query": "", "credentials": "a", "body": BODY, **told.pop("request", {})}
    answer = {
        "status": told.get("status", 200),
        "headers": {},
        "events": [],
        "ending": None,
        "finished": True,
        **told.pop("answer", {}),
    }
    outcome = {"closed_by": "server", "events_sent": 1, "tokens_sent": 5, "seconds": seconds, **told.pop("outcome", {})}
    decision = {"by": "generation", "faults": [], "rule": None, **told.pop("decision", {})}
    place = {"namespace": "", "method": "POST", "path": "/v1/completions", "dialect": "cerebras"}
    asked = {"operation": "completions", "question": True, "model": "m", "prompt": "hello", "seed": 42}
    said = {"status": 200, "streamed": False, "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
    times = {"number": number, "at": 1_700_000_000 + arrived, "arrived": arrived}
    parts = {"request": request, "answer": answer, "outcome": outcome, "decision": decision}
    return View({**place, **asked, **said, **times, **parts, **told})
