"""The engine's event stream: results, failed reads, and nothing that may be secret."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reconciler.engine.environment import Scrubber
from reconciler.engine.events import Events
from tests.engine.fakes import STACK, read_error, result, urn


def fed(*events: Any) -> Events:
    found = Events(Scrubber({"SCW_SECRET_KEY": "hunter2hunter2"}))
    for event in events:
        found.feed(event if isinstance(event, bytes) else json.dumps(event).encode())
    return found


def test_the_result_of_each_read_counts() -> None:
    found = fed(
        {"sequence": 0, "resourcePreEvent": {"metadata": {"op": "refresh", "urn": urn("a"), "type": "x"}}},
        result("a", "same"),
        result("b", "update"),
        result("c", "delete"),
    )
    assert found.operations == {urn("a"): "same", urn("b"): "update", urn("c"): "delete"}


def test_the_stack_and_its_providers_are_no_results() -> None:
    found = fed(
        {"sequence": 0, "resOutputsEvent": {"metadata": {"op": "same", "urn": STACK, "type": "pulumi:pulumi:Stack"}}},
        {
            "sequence": 0,
            "resOutputsEvent": {"metadata": {"op": "same", "urn": "urn:p", "type": "pulumi:providers:scaleway"}},
        },
    )
    assert found.operations == {}


def test_a_delete_is_not_taken_back_by_a_later_result() -> None:
    assert fed(result("a", "delete"), result("a", "same")).operations == {urn("a"): "delete"}


def test_a_failed_read_has_its_reason() -> None:
    found = fed(
        read_error("a", "sdk-v2/provider2.go:572: sdk.helper_schema: http error 424: provider"),
        read_error(
            "a", f"Preview failed: refreshing {urn('a')}: 1 error occurred:\n\t* scaleway-sdk-go: http error 424\n\n"
        ),
        result("b", "same"),
    )
    assert found.failed() == {urn("a"): "scaleway-sdk-go: http error 424"}


def test_a_failure_without_words_is_one() -> None:
    found = fed({"sequence": 1, "resOpFailedEvent": {"metadata": {"op": "refresh", "urn": urn("a"), "type": "x"}}})
    assert found.failed().keys() == {urn("a")}


def test_a_resource_with_a_result_has_not_failed() -> None:
    assert fed(read_error("a", "first try"), result("a", "same")).failed() == {}


def test_an_error_of_the_whole_run_is_kept_apart() -> None:
    found = fed(
        {"sequence": 1, "diagnosticEvent": {"severity": "error", "message": "update canceled\n"}},
        {"sequence": 1, "diagnosticEvent": {"severity": "error", "urn": STACK, "message": "no"}},
        {"sequence": 1, "diagnosticEvent": {"severity": "warning", "message": "using x from $PATH at /x"}},
    )
    assert found.errors == ["update canceled", "no"]
    assert found.failed() == {}


def test_a_secret_in_a_reason_is_taken_out() -> None:
    assert "hunter2" not in fed(read_error("a", "key hunter2hunter2 refused")).failed()[urn("a")]


def test_the_summary_says_how_it_ended() -> None:
    assert fed({"sequence": 1, "summaryEvent": {"result": "succeeded"}}).succeeded is True
    assert fed({"sequence": 1, "summaryEvent": {"result": "failed"}}).succeeded is False
    assert fed().succeeded is None


def test_a_digest_is_no_stream() -> None:
    """What a CLI prints that does not know the variable for streaming: one document over many lines."""
    text = json.dumps({"steps": [{"op": "refresh", "urn": urn("a")}]}, indent=4).encode()
    found = fed(*text.splitlines(), text)
    assert not found.streamed
    assert found.operations == {}


@given(
    st.lists(
        st.binary(max_size=40)
        | st.sampled_from(
            [
                b'{"sequence":1}',
                b'{"sequence":1,"resOutputsEvent":3}',
                b'{"sequence":1,"resOutputsEvent":{"metadata":{"op":1,"urn":2}}}',
                b'{"sequence":1,"diagnosticEvent":{"severity":"error","message":null,"urn":[]}}',
                b'{"sequence":',
                b'{"',
            ]
        )
    )
)
def test_garbage_between_events_is_no_result(lines: list[bytes]) -> None:
    found = fed(*lines)
    assert found.operations == {}
    assert found.failed() == {}
