"""Every mistake in a policy file is named with file, line and key path, and with what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.kernel.errors import ConfigError
from reconciler.policy.decode import InvalidPolicy, decode_value, load_policy, parse_policy
from reconciler.policy.examples import run_text

HEAD = "version: 1\nrules:\n"
GOOD = "  - {id: a, check: required-tags, tags: [x]}\n"


def mistake(text: str, *, is_toml: bool = False) -> InvalidPolicy:
    with pytest.raises(InvalidPolicy) as caught:
        parse_policy(text, source="p.yaml", is_toml=is_toml)
    return caught.value


@pytest.mark.parametrize(
    ("text", "code", "said", "hint"),
    [
        ("version: 1\nrule: []\n", "RC0834", "p.yaml:2: rule: unknown key", "Did you mean `rules`?"),
        (HEAD + "  - id: a\n    check: required-tags\n    tag: [x]\n", "RC0834", "p.yaml:5", "Did you mean `tags`?"),
        (HEAD + "  - id: a\n    check: required-tag\n", "RC0835", "p.yaml:4", "Did you mean `required-tags`?"),
        (HEAD + "  - id: a\n    check: required-tags\n", "RC0835", "rules[0].tags: this key is missing", ""),
        ("rules: []\n", "RC0835", "version: this key is missing", ""),
        ("version: 2\n", "RC0835", "p.yaml:1: version", ""),
        (HEAD + "  - id: a\n    check: forbidden-tags\n    patterns:\n      - '(a'\n", "RC0836", "p.yaml:6", "RE2"),
        (
            HEAD + "  - id: a\n    check: allowed-values\n    key: k\n    patterns: ['(?=a)']\n",
            "RC0836",
            "p.yaml:6",
            "",
        ),
        (HEAD + GOOD + GOOD, "RC0837", "p.yaml:4: rules[1].id: another rule has this id", ""),
        (
            HEAD + GOOD + "exceptions:\n  - {rules: [b], names: [x], reason: r, owner: o, expires: 2027-01-01}\n",
            "RC0838",
            "p.yaml:5: exceptions[0].rules",
            "Rules: a.",
        ),
        (HEAD + "  - {id: a, check: max-size, gb: 1, kinds: [server]}\n", "RC0835", "rules[0].kinds", "One of: volume"),
        (HEAD + "  - {id: a, check: no-public-ip, severity: remediate}\n", "RC0835", "rules[0].severity", ""),
        (
            HEAD + "  - {id: a, check: required-keys, keys: [k], severity: remediate}\n",
            "RC0835",
            "severity",
            "defaults",
        ),
        (HEAD + "  - {id: a, check: max-size, gb: yes}\n", "RC0835", "rules[0].gb", ""),
        (HEAD + "  - {id: A_B, check: no-public-ip}\n", "RC0835", "rules[0].id", ""),
        ("version: 1\nversion: 1\n", "RC0832", "p.yaml:2: version: this key is there twice", ""),
        ("version: 1\nrules: &a []\nmappings: *a\n", "RC0833", "p.yaml:2: anchors and aliases", ""),
        ("version: [1\n", "RC0831", "p.yaml:2: it is not YAML", ""),
        ("- 1\n", "RC0835", "p.yaml: ", ""),
        ("mappings:\n  - {key: k, pattern: 'a(.)(.)'}\nversion: 1\n", "RC0836", "p.yaml:2: mappings[0].pattern", ""),
        ("mappings:\n  - {key: k, pattern: 'a(.)', write: x}\nversion: 1\n", "RC0835", "mappings[0].write", ""),
    ],
)
def test_a_mistake_is_named_where_it_is(text: str, code: str, said: str, hint: str) -> None:
    error = mistake(text)
    assert error.code == code
    assert said in error.message
    assert hint in error.hint


def test_all_mistakes_are_named_at_once() -> None:
    error = mistake("versoin: 1\nrules:\n  - {id: a, check: nothing}\n")
    assert [problem.code for problem in error.problems] == ["RC0834", "RC0835", "RC0835"]


def test_toml_has_lines_too() -> None:
    error = mistake('version = 1\n\n[[rules]]\nid = "a"\ncheck = "max-size"\ngbs = 1\n', is_toml=True)
    assert {"p.yaml:6: rules[0].gbs: unknown key"} <= {str(problem) for problem in error.problems}


def test_toml_and_yaml_say_the_same(tmp_path: Path) -> None:
    yaml = HEAD + GOOD + "exceptions:\n  - {rules: [a], names: [x], reason: r, owner: o, expires: 2027-01-01}\n"
    toml = (
        'version = 1\n[[rules]]\nid = "a"\ncheck = "required-tags"\ntags = ["x"]\n'
        '[[exceptions]]\nrules = ["a"]\nnames = ["x"]\nreason = "r"\nowner = "o"\nexpires = 2027-01-01\n'
    )
    (tmp_path / "p.toml").write_text(toml)
    found = load_policy(tmp_path / "p.toml")
    assert (found.rules, found.exceptions) == (
        parse_policy(yaml, source="x").rules,
        parse_policy(yaml, source="x").exceptions,
    )


def test_an_error_never_repeats_a_value() -> None:
    error = mistake(HEAD + "  - {id: a, check: forbidden-tags, patterns: ['hunter2(']}\n")
    assert "hunter2" not in error.message + error.hint


def test_a_file_that_is_not_there_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_policy(tmp_path / "none.yaml")
    assert caught.value.code == "RC0830"


def test_a_value_without_a_text_names_the_key_path() -> None:
    with pytest.raises(InvalidPolicy, match=r"stack a/b: rules\[0\].tagz: unknown key"):
        decode_value({"version": 1, "rules": [{"id": "a", "check": "ownership", "tagz": []}]}, source="stack a/b")


def test_an_exception_without_a_selector_is_refused() -> None:
    text = HEAD + GOOD + "exceptions:\n  - {rules: [a], reason: r, owner: o, expires: 2027-01-01}\n"
    assert "one of `names`" in mistake(text).message


@pytest.mark.parametrize("text", ["version = 1\nx = " + "[" * 5000 + "]" * 5000, "version = " + "9" * 5000])
def test_toml_that_no_parser_can_hold_is_a_mistake_and_no_bug(text: str) -> None:
    assert mistake(text, is_toml=True).code == "RC0831"


KEYS = "mappings:\n  - {{key: owner, pattern: '{pattern}', write: 'by-{{value}}'}}\n" + HEAD.partition("\n")[2]
DEFAULT = "  - {id: a, check: required-keys, keys: [owner], defaults: {owner: X1}, severity: remediate}\n"


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\n" + KEYS.format(pattern="of-(.+)") + DEFAULT,
        "version: 1\n" + KEYS.format(pattern="by-([a-z]+)") + DEFAULT,
        HEAD + "  - {id: a, check: required-keys, keys: [a=b], defaults: {a=b: x}}\n",
    ],
)
def test_a_default_that_could_never_settle_its_rule_is_refused(text: str) -> None:
    """Each preview and each sweep would add the tag once more, and the rule would stay broken."""
    assert mistake(text).code == "RC0852"


def test_a_default_in_the_scheme_that_was_there_is_taken() -> None:
    text = "version: 1\n" + KEYS.format(pattern="by-(.+)") + DEFAULT
    assert parse_policy(text, source="p.yaml").rules[0].id == "a"


EXAMPLE = "policy:\n  version: 1\n  rules:\n    - {id: a, check: required-tags, tags: [x]%s}\ncases:\n"


def example_mistake(tmp_path: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        run_text(text, source="e.yaml", directory=tmp_path)
    return caught.value


def test_an_example_is_advisory_only_in_what_it_violates(tmp_path: Path) -> None:
    text = EXAMPLE % "" + "  - {name: n, resource: {tags: [x]}, violates: [], advisory: [misspelt]}\n"
    assert example_mistake(tmp_path, text).code == "RC0844"


def test_a_mistake_in_the_policy_of_an_examples_file_has_its_line(tmp_path: Path) -> None:
    text = EXAMPLE % ", serverity: advisory" + "  - {name: n, resource: {tags: [x]}, violates: []}\n"
    assert str(example_mistake(tmp_path, text)).startswith("e.yaml:4: rules[0].serverity")


def test_a_home_that_nobody_has_is_a_file_that_is_not_there(tmp_path: Path) -> None:
    text = "policy: '~nobody-of-this-name/p.yaml'\ncases:\n  - {name: n, resource: {}, violates: []}\n"
    assert example_mistake(tmp_path, text).code == "RC0830"


def test_a_price_that_no_number_holds_in_nano_eur_is_a_mistake(tmp_path: Path) -> None:
    assert mistake(HEAD + "  - {id: a, check: max-price, eur_hour: 1.0e+300}\n").code == "RC0835"
    text = EXAMPLE % "" + "  - {name: n, resource: {kind: volume, size_gb: 1.0e+300}, violates: [a]}\n"
    assert example_mistake(tmp_path, text).code == "RC0844"
