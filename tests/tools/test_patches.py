"""Patches to vendored source: each fits exactly, or the build stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.console import ToolError
from tools.patches import Patch, apply_patch, load_patches
from tools.pins import TREE

PATCH = Patch(module="example.com/m", file="a/b.go", find="old()\n", replace="new()\n", reason="renamed")


def vendored(root: Path, source: str) -> Path:
    target = root / PATCH.module / PATCH.file
    target.parent.mkdir(parents=True)
    target.write_text(source)
    return target


def test_a_patch_changes_the_one_place_that_it_names(tmp_path: Path) -> None:
    target = vendored(tmp_path, "before\nold()\nafter\n")
    apply_patch(PATCH, tmp_path)
    assert target.read_text() == "before\nnew()\nafter\n"


@pytest.mark.parametrize("source", ["nothing of the kind\n", "old()\nold()\n"], ids=["absent", "twice"])
def test_a_patch_that_does_not_fit_exactly_once_stops_the_build_and_changes_nothing(
    tmp_path: Path, source: str
) -> None:
    target = vendored(tmp_path, source)
    with pytest.raises(ToolError, match="does not apply") as caught:
        apply_patch(PATCH, tmp_path)
    assert (caught.value.code, target.read_text()) == ("RC8011", source)


def test_a_patch_to_a_file_that_is_gone_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be read") as caught:
        apply_patch(PATCH, tmp_path)
    assert caught.value.code == "RC8011"


def test_a_patched_file_is_a_new_file_so_that_a_linked_original_stays_as_it_is(tmp_path: Path) -> None:
    target = vendored(tmp_path, "old()\n")
    shared = tmp_path / "shared.go"
    shared.hardlink_to(target)
    apply_patch(PATCH, tmp_path)
    assert shared.read_text() == "old()\n"


def test_a_patch_file_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "patches.toml"
    broken.write_text('[[patch]]\nmodule = "m"\nfile = "f"\nfind = "x"\nreplace = "y"\nreason = "z"\nsed = "s/x/y/"\n')
    with pytest.raises(ToolError) as caught:
        load_patches(broken)
    assert caught.value.code == "RC8011"


def test_every_shipped_patch_says_why_it_is_there_and_changes_something() -> None:
    patches = load_patches(TREE / "tools" / "toolchain" / "scaleway" / "patches.toml")
    assert patches
    assert all(patch.reason and patch.find and patch.find != patch.replace for patch in patches)
