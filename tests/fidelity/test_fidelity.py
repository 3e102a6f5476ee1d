"""The replay of the recordings holds. Skipped, and counted, where no recordings are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.simulator import render
from reconciler.simulator.rooms import ROUTES
from tests.fidelity.cassettes import SOURCES, Cassette, cassettes
from tests.fidelity.deviations import DEVIATIONS
from tests.fidelity.replay import replay
from tests.fidelity.report import Report, run
from tests.simulator import recordings

# A life of one server with an IPv6 address.
CASSETTE = "instance/ip-routed-ipv6-attached"
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "simulator.md").read_text(encoding="utf-8")

if recordings.directory() is None:
    pytest.skip("no recordings here: set RECONCILER_TEST_DATA", allow_module_level=True)

# One replay of everything serves all tests of this file.
pytestmark = pytest.mark.xdist_group("fidelity")


@pytest.fixture(scope="module")
def report() -> Report:
    return run()


def named(name: str) -> Cassette:
    return next(one for source in SOURCES for one in cassettes(source) if one.name == name)


def test_the_simulator_answers_as_recorded_but_for_what_has_a_reason(report: Report) -> None:
    assert report.failures() == []
    assert report.agreement >= 0.98


def test_every_exchange_is_counted_once(report: Report) -> None:
    recorded = sum(len(one.exchanges) for source in SOURCES for one in cassettes(source))
    parts = [report.of(verdict) for verdict in ("agrees", "differs", "not served", "body lost")]
    assert sum(len(part) for part in parts) == len(report.outcomes) == recorded


def test_every_class_is_met(report: Report) -> None:
    """A class that nothing needs any more is an excuse waiting for a use."""
    met = {item.name for item in DEVIATIONS for outcome in report.of("differs") if item.explains(outcome)}
    assert met == {item.name for item in DEVIATIONS}


def test_the_figures_of_the_documentation_are_those_of_the_run(report: Report) -> None:
    same, words = report.words
    figures = {
        "recorded": len(report.outcomes),
        "on routes that are served, with all that was sent": len(report.of("agrees", "differs")),
        "of these, as recorded": len(report.of("agrees")),
        f"with a difference that has a reason, in {len(DEVIATIONS)} classes": len(report.of("differs")),
        "whose body the recording lacks": len(report.of("body lost")),
    }
    rows = dict(re.findall(r"^\| (.+?) \| (\d+) \|$", PAGE, re.MULTILINE))
    assert {name: rows.get(name) for name in figures} == {name: str(count) for name, count in figures.items()}
    assert f"Of {words} words of state in them, {same} are" in PAGE


def test_every_route_without_a_recording_is_in_the_table_and_no_other(report: Report) -> None:
    recorded = {(each.exchange.method, each.route) for each in report.outcomes if each.verdict != "not served"}
    unseen = {(route.method, route.template) for route in ROUTES} - recorded
    table = PAGE.partition("### Routes without a recording")[2]
    listed = {
        (method, path)
        for path, methods in re.findall(r"^\| `(/[^`]+)` \| ([A-Z, ]+) \|$", table, re.MULTILINE)
        for method in methods.split(", ")
    }
    assert listed == unseen


def test_a_key_that_is_missing_fails_the_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = render.server_v1

    def without(*args: Any) -> Mapping[str, Any]:
        shown = dict(whole(*args))
        del shown["maintenances"]
        return shown

    monkeypatch.setattr("reconciler.simulator.rooms.server_common.server_v1", without)
    broken = Report([replay(named(CASSETTE))])
    assert broken.agreement < 0.98
    assert any(failure.startswith("unexplained") and "-maintenances" in failure for failure in broken.failures())


def test_a_class_that_grows_beyond_its_bound_fails_the_replay(report: Report) -> None:
    """The same recordings twice are twice the deviations."""
    doubled = Report([*report.replays, *report.replays])
    assert [failure.split(":")[0] for failure in doubled.failures()] == [f"class {item.name!r}" for item in DEVIATIONS]


def test_what_a_replayed_call_should_have_made_is_not_put_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the volume that comes with a server, its first GET must fail; the replay may not supply it."""
    monkeypatch.setattr("reconciler.simulator.rooms.server_create._volume_v1", lambda call, server, **_: server)
    broken = replay(named(CASSETTE))
    assert broken.before == broken.elsewhere == ()
    missing = [each for each in broken.outcomes if "status 200 here 404" in each.differences]
    assert any("/block/v1/" in each.route for each in missing)


def test_recorded_rate_limits_are_met_as_faults(report: Report) -> None:
    limited = [each for each in report.outcomes if each.exchange.rate_limited]
    assert len(limited) == 13
    assert {each.verdict for each in limited} == {"agrees"}


def test_durations_of_the_recording_do_not_make_a_transition_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    """They say when it ends. A server that is never powered on stays stopped, and its recorded words are missed."""
    whole = replay(named(CASSETTE))
    assert sum(each.words_same for each in whole.outcomes) == sum(each.words for each in whole.outcomes) > 0
    monkeypatch.setattr("reconciler.simulator.rooms.server_actions.power_on", lambda call, server: None)
    broken = replay(named(CASSETTE))
    assert sum(each.words_same for each in broken.outcomes) < 0.98 * sum(each.words for each in broken.outcomes)
