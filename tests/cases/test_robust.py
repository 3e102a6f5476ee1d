"""Whatever is in a file, it is a case or it is told what is wrong with it; nothing else comes out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.cases.problems import InvalidCase, Problem
from reconciler.kernel.errors import ReconcilerError
from tests.cases.support import HERE, case_of, run, whats

TEXTS = [path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.yaml"))]
ODD: list[Any] = [
    None, True, False, 0, -1, 10**30, 1.5, "", " ", "none", "all", "owned", "*", "../x", "a b", "\u202e", "1h", "re:(",
    [], {}, [[]], [{}], {"": ""}, {"a": {"b": 1}}, ["none"], "{}", "drift --help", "add_ip",
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def problems_of(text: str) -> tuple[Problem, ...]:
    try:
        case_of(text)
    except InvalidCase as error:
        return error.problems
    return ()


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_case_with_any_one_value_changed_is_read_or_refused_with_a_line(data: st.DataObject) -> None:
    document = yaml.safe_load(data.draw(st.sampled_from(TEXTS)))
    path = data.draw(st.sampled_from(list(places(document))))
    text = yaml.safe_dump(changed(document, path, data.draw(st.sampled_from(ODD))), sort_keys=False)
    found = problems_of(text)
    assert all(problem.hint for problem in found)
    assert all(problem.mark.line > 0 for problem in found), found


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet=st.sampled_from("abc:-[]{}'\"&*!|>%@#,. \n\t\u00e9\u202e0\\?<="), max_size=60))
def test_any_text_at_all_is_refused_and_not_more(text: str) -> None:
    with pytest.raises(InvalidCase):
        case_of(text)


def test_a_value_of_the_wrong_type_for_a_stranger_fails_its_case_alone() -> None:
    text = "why: a text\nsteps:\n  - do: {set_options: {quotas: 3}}\n  - run: drift\n"
    assert [what.split(":")[0] for what in whats(text)] == ["RC0825"]


def test_a_bug_in_one_case_is_a_failure_of_that_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("reconciler.cases.runner.Stage", broken)
    assert whats("why: a text\nsteps: [{run: drift}]\n") == ["unexpected ZeroDivisionError"]


def test_a_request_that_nobody_would_let_go_is_refused() -> None:
    with pytest.raises(InvalidCase, match="nobody would let it go"):
        case_of("why: a text\nfaults: [{path: '**', action: hold}]\nsteps: [{run: drift}]\n")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    from reconciler.cases.reader import load

    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.yaml").write_text("#" * (1 << 20 | 1))
    for name, code in (("a", "RC0800"), ("b", "RC0807"), ("c", "RC0800")):
        with pytest.raises(ReconcilerError) as caught:
            load(tmp_path / f"{name}.yaml")
        assert caught.value.code == code


def test_no_case_leaves_anything_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert run("why: a text\nsteps: [{run: drift}]\n") == ()
    assert list(tmp_path.iterdir()) == []
