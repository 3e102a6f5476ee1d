"""`simulate run`, `list`, `new`: what they print and how they end."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from reconciler.cases.suite import Options, run_suite
from reconciler.cli.case_world import COMMANDS_OF_CASES, invoke
from reconciler.cli.main import main
from tests.cases.support import HERE
from tests.e2e.rig import missing_tool

GOOD = """
why: Nothing is wrong here.
source: R000
rules: [9]
resources:
  - server: {name: w1, fleet: ci, slot: 0}
steps:
  - {run: drift, exit: 0}
"""
FAILS = GOOD.replace("exit: 0", "exit: 2")
BROKEN = GOOD.replace("fleet:", "flet:")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("good", GOOD), ("fails", FAILS), ("broken", BROKEN)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_a_case_that_holds_is_one_line_and_status_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "run", "good.yaml"]) == 0
    verdict, total = capsys.readouterr().out.splitlines()
    assert verdict.startswith("ok    good  ")
    assert verdict.endswith("R000, rule 9")
    assert total.startswith("1 case: 1 passed, 0 failed, 0 skipped")


def test_a_case_that_does_not_hold_shows_both_sides_and_how_to_run_it_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "run", "fails.yaml"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAIL  fails  ")
    assert lines[1] == "      fails.yaml:8 (step 1): exit"
    assert lines[2:4] == ["        - 2", "        + 0"]
    assert "      again: reconciler simulate run --keep kept fails.yaml" in lines


def test_a_file_that_is_no_case_is_a_failure_with_its_mistakes_and_stops_no_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "run", "."]) == 1
    out = capsys.readouterr().out
    assert "broken.yaml:6: [RC0801] unknown key `flet`" in out
    assert "hint: Did you mean `fleet`?" in out
    assert "ok    good" in out
    assert "3 cases: 1 passed, 2 failed, 0 skipped" in out


def test_results_as_json_and_junit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "run", "-o", "json", "-o", "junit=cases.xml", "good.yaml", "fails.yaml"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["passed"], document["failed"]) == (1, 1)
    assert [one["status"] for one in document["cases"]] == ["passed", "failed"]
    assert document["cases"][1]["failures"][0]["line"] == 8
    suite = ET.parse(folder / "cases.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite.findall("testcase")] == ["good", "fails"]


def test_the_folder_of_a_case_can_be_kept(folder: Path) -> None:
    assert main(["simulate", "run", "--keep", "kept", "good.yaml"]) == 0
    kept = folder / "kept" / "good"
    assert json.loads((kept / "step-1.json").read_text())["findings"] == []
    assert (kept / "reconciler.toml").is_file()
    assert (kept / "reconciler.db").is_file()


def test_no_case_is_a_mistake_of_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").mkdir()
    assert main(["simulate", "run", "empty"]) == 64
    assert main(["simulate", "run", "nowhere.yaml"]) == 64
    assert capsys.readouterr().err.count("error[RC0813]") == 2


def test_without_the_engine_the_option_says_what_is_missing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    assert main(["simulate", "run", "--engine", "good.yaml"]) == 1
    assert "error[RC0817]" in capsys.readouterr().err


def test_a_list_names_each_case_with_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "list", "good.yaml", "fails.yaml"]) == 0
    out = capsys.readouterr().out
    assert "Nothing is wrong here." in out
    assert "total: 2 case(s)" in out
    assert main(["simulate", "list", "-j", "good.yaml"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["cases"]
    assert (entry["name"], entry["source"], entry["rules"]) == ("good", ["R000"], [9])


def test_a_list_says_what_is_wrong_with_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "list", "."]) == 64
    assert "broken.yaml:6: [RC0801]" in capsys.readouterr().err


def test_a_new_case_holds_and_overwrites_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "new", "lost-address"]) == 0
    assert main(["simulate", "run", "lost-address.yaml"]) == 0
    assert main(["simulate", "new", "lost-address"]) == 64
    assert main(["simulate", "new", "../escape"]) == 64
    assert capsys.readouterr().err.count("error[RC0814]") == 2


def test_cases_run_in_parallel_with_the_same_verdicts_in_order(folder: Path) -> None:
    paths = [folder / "good.yaml", folder / "fails.yaml", folder / "good.yaml"]
    options = Options(invoke=invoke, commands=COMMANDS_OF_CASES)
    verdicts = list(run_suite(paths, options, jobs=2))
    assert [(verdict.name, verdict.passed) for verdict in verdicts] == [
        ("good", True),
        ("fails", False),
        ("good", True),
    ]


def test_the_same_case_holds_over_http(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "run", "--http", str(HERE / "detached-address-and-root.yaml")]) == 0
    assert main(["simulate", "run", "--http", str(HERE / "page-shift.yaml")]) == 0


@pytest.mark.engine
@pytest.mark.skipif(missing_tool() is not None, reason=f"{missing_tool()} is not on PATH")
def test_the_same_cases_hold_with_the_real_engine(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("detached-address-and-root", "denied-addresses", "interrupted-create-came-to-nothing", "tag-taken-off")
    assert main(["simulate", "run", "--engine", *(str(HERE / f"{name}.yaml") for name in names)]) == 0
    assert "4 cases: 4 passed" in capsys.readouterr().out


@pytest.mark.engine
@pytest.mark.skipif(missing_tool() is not None, reason=f"{missing_tool()} is not on PATH")
def test_a_case_that_the_engine_cannot_play_is_skipped_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "run", "--engine", str(HERE / "interrupted-create-waits.yaml")]) == 0
    assert "skip  interrupted-create-waits  adoption runs the program" in capsys.readouterr().out
