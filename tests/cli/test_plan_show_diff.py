"""`plan show` and `plan diff`: plans that were made before, without a look at the world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.kernel.errors import StoreError
from tests.cli.conftest import Run
from tests.fakes.estate import STACK, FakeWorld


@pytest.fixture
def digest(run: Run, world: FakeWorld) -> str:
    """Of a plan that destroys an address and forgets another; the file is plan.json."""
    world.leftover_ip()
    world.vanished_ip()
    document = run("plan", "--out", "plan.json", "-j").document
    return str(document["digest"])


# -- show


def test_show_of_a_file_and_of_a_digest_are_the_same(run: Run, digest: str) -> None:
    by_file, by_digest, by_prefix = (run("plan", "show", name) for name in ("plan.json", digest, digest[:6]))
    assert by_file.out == by_digest.out == by_prefix.out
    assert by_file.status == 0
    for part in ("destroy ip", "state: registered", f"digest: {digest}", "expires: "):
        assert part in by_file.out


def test_show_looks_at_no_world(run: Run, world: FakeWorld, digest: str) -> None:
    calls = world.cloud_port.calls
    world.engine_port.unreadable[STACK] = "the bucket is gone"
    assert run("plan", "show", digest).status == 0
    assert world.cloud_port.calls == calls


def test_show_writes_nothing(run: Run, world: FakeWorld, digest: str) -> None:
    world.store_port.read_only = True
    assert run("plan", "show", digest).status == 0


def said(run: Run, *argv: str) -> dict[str, object]:
    found: dict[str, object] = run("plan", "show", *argv, "-j").document
    return found


def test_show_says_that_a_plan_was_never_registered(run: Run, world: FakeWorld, digest: str) -> None:
    world.store_port.plans.clear()
    document = said(run, "plan.json")
    assert (document["state"], document["may_be_applied"]) == ("not-registered", False)


def test_show_says_that_a_plan_has_expired(run: Run, world: FakeWorld, digest: str) -> None:
    assert said(run, digest)["may_be_applied"] is True
    world.clock_now.advance(3601)
    document = said(run, digest)
    assert (document["expired"], document["may_be_applied"]) == (True, False)
    assert "expired: " in run("plan", "show", digest).out


def test_show_says_that_a_plan_was_applied_and_names_the_run(run: Run, digest: str) -> None:
    run("apply", "plan.json")
    document = said(run, digest)
    assert (document["state"], document["may_be_applied"], document["stale"]) == ("applied", False, [])
    runs = document["runs"]
    assert isinstance(runs, list)
    assert [one["status"] for one in runs] == ["done"]


def test_show_says_that_a_plan_was_partly_applied(run: Run, world: FakeWorld, digest: str) -> None:
    (entry,) = world.engine_port.states[STACK].resources
    world.engine_port.refuse[entry.urn] = "the gate answered 403"
    assert run("apply", "plan.json").status == 4
    assert said(run, digest)["state"] == "partly-applied"


def test_show_says_stale_when_a_later_sweep_saw_another_state(run: Run, world: FakeWorld, digest: str) -> None:
    world.clock_now.advance(60)
    world.engine_port.states[STACK] = replace(world.engine_port.states[STACK], serial="s2")
    assert said(run, digest)["stale"] == []
    run("drift")
    document = said(run, digest)
    assert len(document["stale"]) == 1  # type: ignore[arg-type]
    assert document["may_be_applied"] is False
    assert f"saw another state of {STACK}" in run("plan", "show", digest).out


def test_show_says_stale_when_a_later_sweep_did_not_find_it_again(run: Run, world: FakeWorld, digest: str) -> None:
    world.clock_now.advance(60)
    world.cloud_port.resources.clear()
    run("drift")
    assert "did not find" in run("plan", "show", digest).out


def test_show_without_a_database_knows_the_file_and_ends_with_7(run: Run, world: FakeWorld, digest: str) -> None:
    world.broken_store = StoreError("down", code="RC0201")
    ran = run("plan", "show", "plan.json")
    assert (ran.status, "is not known" in ran.out, "destroy ip" in ran.out) == (7, True, True)
    assert said(run, "plan.json")["state"] is None


def test_show_of_a_digest_needs_the_database(run: Run, world: FakeWorld, digest: str) -> None:
    world.broken_store = StoreError("down", code="RC0201")
    assert run("plan", "show", digest).status == 1


def test_a_digest_that_is_not_known_is_no_plan(run: Run) -> None:
    ran = run("plan", "show", "abcdef")
    assert (ran.status, "error[RC0147]" in ran.err) == (64, True)


def test_a_digest_that_begins_several_is_no_name(run: Run, world: FakeWorld, digest: str) -> None:
    row = world.store_port.plan_rows[digest]
    twin = digest[:8] + "0" * 56
    world.store_port.plan_rows[twin] = replace(row, digest=twin)
    ran = run("plan", "show", digest[:8])
    assert (ran.status, "error[RC0148]" in ran.err) == (64, True)


def test_a_name_that_is_neither_is_a_file_that_is_missing(run: Run) -> None:
    ran = run("plan", "show", "missing.json")
    assert (ran.status, "error[RC0143]" in ran.err) == (6, True)


def test_an_edited_file_is_not_shown(run: Run, digest: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(path.read_text().replace("detached", "orphan"))
    ran = run("plan", "show", "plan.json")
    assert (ran.status, ran.out, "error[RC0602]" in ran.err) == (6, "", True)


def test_an_option_of_plan_before_a_subcommand_is_refused(run: Run, digest: str) -> None:
    ran = run("plan", "--mode", "repair", "show", digest)
    assert (ran.status, "--mode means nothing to `plan show`" in ran.err) == (64, True)


# -- diff


def test_two_plans_of_the_same_world_do_the_same(run: Run, world: FakeWorld, digest: str) -> None:
    world.clock_now.advance(60)
    run("plan", "--out", "next.json")
    ran = run("plan", "diff", "plan.json", "next.json")
    assert ran.status == 0
    assert "do the same, at the same price, within the same limits" in ran.out
    assert run("plan", "diff", digest, "next.json", "-j").document["same"] is True


def test_diff_names_what_came_and_what_went_and_the_price(run: Run, world: FakeWorld, digest: str) -> None:
    (first,) = world.cloud_port.resources
    world.cloud_port.resources.clear()
    two, three = world.leftover_ip(2), world.leftover_ip(3)
    run("plan", "--out", "next.json")
    document = run("plan", "diff", "plan.json", "next.json", "-j").document
    assert [one["refs"] for one in document["removed"]] == [[str(first)]]
    assert sorted(one["refs"][0] for one in document["added"]) == sorted([str(two.ref), str(three.ref)])
    assert [document["saves_month"][key]["amount"] for key in ("before", "after")] == [2.92, 5.84]
    counts = {one["name"]: (one["before"]["value"], one["after"]["value"]) for one in document["rails"]}
    assert counts["count"] == counts["count-ip"] == (1, 2)


def test_diff_names_what_changed_in_an_action(run: Run, world: FakeWorld, digest: str) -> None:
    """One refresh of the stack in both, with one entry more; one address with other tags."""
    ((ref, ip),) = world.cloud_port.resources.items()
    world.cloud_port.resources[ref] = replace(ip, tags=(*ip.tags, "role=ci"))
    second = world.vanished_ip(2)
    run("plan", "--out", "next.json")
    document = run("plan", "diff", "plan.json", "next.json", "-j").document
    what = {one["kind"]: one["what"] for one in document["changed"]}
    assert (document["added"], document["removed"]) == ([], [])
    assert f"{ref} has another tags" in what["destroy"]
    assert f"+ urn {second.urn}" in what["refresh"]
    ran = run("plan", "diff", "plan.json", "next.json")
    assert [line[:9] for line in ran.out.splitlines() if line.startswith("~")] == ["~ refresh", "~ destroy"]


def test_diff_says_that_the_modes_differ(run: Run, digest: str) -> None:
    run("plan", "--mode", "repair", "--out", "next.json")
    ran = run("plan", "diff", "plan.json", "next.json")
    assert "mode: prune -> repair" in ran.out
    assert [line[:9] for line in ran.out.splitlines() if line.startswith("-")] == ["- destroy"]
