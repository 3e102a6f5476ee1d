"""The checks of tags. Each is a function of check, item, policy and facts, and gives what fails, or None.

An item whose tags are partly unknown (`tags_open`) breaks a rule for certain by what it has, and perhaps by what it
lacks: the latter is doubtful.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from reconciler.model.desired import FLEET_TAG, OWNER_TAG, REVISION_TAG, SCOPE_TAG, tag_value
from reconciler.model.policy import (
    AllowedTags,
    AllowedValues,
    CurrentRevision,
    ForbiddenTags,
    Ownership,
    Policy,
    RequiredKeys,
    RequiredTags,
    TagCase,
    TagForm,
    TagLimits,
)
from reconciler.policy.item import Facts, Item
from reconciler.policy.patterns import matches
from reconciler.policy.tags import fleet_of, folded, is_mapped, is_own, near_miss, split, values_of, written
from reconciler.policy.verdict import Failing, NotTold

TAGS = "tags"
OF_TAGS = (
    RequiredTags,
    RequiredKeys,
    AllowedValues,
    AllowedTags,
    ForbiddenTags,
    TagCase,
    TagForm,
    TagLimits,
    Ownership,
    CurrentRevision,
)
TagCheck: TypeAlias = (
    RequiredTags
    | RequiredKeys
    | AllowedValues
    | AllowedTags
    | ForbiddenTags
    | TagCase
    | TagForm
    | TagLimits
    | Ownership
    | CurrentRevision
)


def tag_check(check: TagCheck, item: Item, policy: Policy, facts: Facts) -> Failing | NotTold | None:
    tags = item.tags
    if tags is None:
        return NotTold("its tags are not told here")
    match check:
        case RequiredTags():
            return required_tags(check, item, tags)
        case RequiredKeys():
            return required_keys(check, item, tags, policy)
        case Ownership():
            return ownership(check, item, tags, policy, facts)
        case CurrentRevision():
            return current_revision(item, tags, policy, facts)
        case _:
            return _by_what_is_there(check, tags, policy)


def _by_what_is_there(
    check: AllowedValues | AllowedTags | ForbiddenTags | TagCase | TagForm | TagLimits,
    tags: tuple[str, ...],
    policy: Policy,
) -> Failing | None:
    """These are broken by the tags that are there, whatever else may come."""
    match check:
        case AllowedValues():
            return allowed_values(check, tags, policy)
        case AllowedTags():
            return allowed_tags(check, tags)
        case ForbiddenTags():
            return forbidden_tags(check, tags)
        case TagCase():
            return tag_case(check, tags, policy)
        case TagForm():
            return tag_form(check, tags, policy)
        case TagLimits():
            return tag_limits(check, tags)


def required_tags(check: RequiredTags, item: Item, tags: tuple[str, ...]) -> Failing | None:
    missing = tuple(tag for tag in check.tags if tag not in tags)
    if not missing:
        return None
    return _lacking(f"{_tags(missing)} missing{_close(missing, tags)}", item, add=missing)


def required_keys(check: RequiredKeys, item: Item, tags: tuple[str, ...], policy: Policy) -> Failing | None:
    missing = tuple(key for key in check.keys if not any(values_of(key, tags, policy)))
    if not missing:
        return None
    defaults = dict(check.defaults)
    known = [written(key, defaults[key], policy) for key in missing if key in defaults]
    spelled = _spelled_otherwise(missing, tags, policy)
    text = f"no value for {', '.join(f'`{key}`' for key in missing)}{spelled}"
    return _lacking(text, item, add=tuple(tag for tag in known if tag is not None))


def _spelled_otherwise(keys: Iterable[str], tags: tuple[str, ...], policy: Policy) -> str:
    for key in keys:
        for tag in tags:
            pair = split(tag, separator=policy.separator)
            if pair is not None and folded(pair[0]) == folded(key):
                return f" (`{tag}` is close, and {'has no value' if pair[0] == key else 'spelled otherwise'})"
    return ""


def allowed_values(check: AllowedValues, tags: tuple[str, ...], policy: Policy) -> Failing | None:
    wrong = [
        value
        for value in values_of(check.key, tags, policy)
        if value not in check.values and not any(matches(pattern, value) for pattern in check.patterns)
    ]
    if not wrong:
        return None
    allowed = ", ".join((*check.values, *(f"/{pattern}/" for pattern in check.patterns)))
    return Failing(text=f"`{check.key}` is `{wrong[0]}`; allowed: {allowed}", facet=TAGS)


def allowed_tags(check: AllowedTags, tags: tuple[str, ...]) -> Failing | None:
    wrong = [tag for tag in tags if not (is_own(tag) or _listed(tag, check.tags, check.patterns))]
    return Failing(text=f"{_tags(wrong)} not among the allowed ones", facet=TAGS) if wrong else None


def forbidden_tags(check: ForbiddenTags, tags: tuple[str, ...]) -> Failing | None:
    wrong = [tag for tag in tags if _listed(tag, check.tags, check.patterns)]
    return Failing(text=f"{_tags(wrong)} forbidden", facet=TAGS) if wrong else None


def tag_case(check: TagCase, tags: tuple[str, ...], policy: Policy) -> Failing | None:
    for tag in tags:
        if is_own(tag):
            continue
        if check.case is not None and tag != (tag.lower() if check.case == "lower" else tag.upper()):
            return Failing(text=f"`{tag}` is not in {check.case} case", facet=TAGS)
        pair = split(tag, separator=policy.separator)
        if pair is None or pair[0] in check.keys:
            continue
        meant = next((key for key in check.keys if folded(key) == folded(pair[0])), None)
        if meant is not None:
            return Failing(text=f"`{tag}` spells the key `{meant}` otherwise", facet=TAGS)
    return None


def tag_form(check: TagForm, tags: tuple[str, ...], policy: Policy) -> Failing | None:
    pairs = check.form == "key-value"
    wrong = [
        tag
        for tag in tags
        if not is_own(tag)
        and not is_mapped(tag, policy)
        and ((split(tag, separator=policy.separator) is not None) is not pairs)
    ]
    if not wrong:
        return None
    wanted = f"`key{policy.separator}value`" if pairs else "bare"
    return Failing(text=f"{_tags(wrong)} not {wanted}", facet=TAGS)


def tag_limits(check: TagLimits, tags: tuple[str, ...]) -> Failing | None:
    if check.count is not None and len(tags) > check.count:
        return Failing(text=f"{len(tags)} tags, and {check.count} is the most", facet=TAGS)
    long = [tag for tag in tags if check.length is not None and len(tag) > check.length]
    if long:
        return Failing(text=f"a tag of {len(long[0])} characters, and {check.length} is the most", facet=TAGS)
    twice = sorted({tag for tag in tags if tags.count(tag) > 1}) if not check.repeats else []
    return Failing(text=f"{_tags(twice)} there more than once", facet=TAGS) if twice else None


def ownership(check: Ownership, item: Item, tags: tuple[str, ...], policy: Policy, facts: Facts) -> Failing | None:
    if check.tags:
        return required_tags(RequiredTags(tags=check.tags), item, tags)
    scope = policy.scope or facts.scope
    foreign = [tag for tag in tags if scope and tag.startswith(SCOPE_TAG) and tag != SCOPE_TAG + scope]
    if foreign:
        return Failing(text=f"`{foreign[0]}` is the owner tag of another scope", facet=TAGS)
    wanted = [OWNER_TAG]
    wanted += [SCOPE_TAG + scope] if scope else []
    fleet = item.fleet or fleet_of(tags, policy)
    has_fleet = any(tag.startswith(FLEET_TAG) and tag != FLEET_TAG for tag in tags)
    wanted += [FLEET_TAG + fleet] if fleet and not has_fleet else []
    missing = tuple(tag for tag in wanted if tag not in tags)
    vague = [] if scope or any(tag.startswith(SCOPE_TAG) for tag in tags) else [f"{SCOPE_TAG}…"]
    vague += [] if fleet or has_fleet else [f"{FLEET_TAG}…"]
    if not missing and not vague:
        return None
    text = f"{_tags((*missing, *vague), noun='owner tag')} missing{_close(wanted, tags)}"
    return _lacking(text, item, add=() if vague else missing)


def current_revision(item: Item, tags: tuple[str, ...], policy: Policy, facts: Facts) -> Failing | NotTold | None:
    fleet = item.fleet or fleet_of(tags, policy)
    if fleet is None:
        return None
    wanted = facts.revisions.get(fleet)
    if wanted is None:
        return NotTold(f"the revision that fleet {fleet} declares is not told here")
    has = tag_value(tags, REVISION_TAG)
    if has == wanted:
        return None
    if has is None:
        return _lacking("it carries no revision", item)
    return Failing(text=f"revision {has}, and fleet {fleet} declares {wanted}", facet="revision")


def _listed(tag: str, tags: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return tag in tags or any(matches(pattern, tag) for pattern in patterns)


def _lacking(text: str, item: Item, *, add: tuple[str, ...] = ()) -> Failing:
    if item.tags_open:
        return Failing(text=f"{text}, as far as the tags are known yet", facet=TAGS, add=add, doubtful=True)
    return Failing(text=text, facet=TAGS, add=add)


def _tags(tags: Iterable[str], *, noun: str = "tag") -> str:
    listed = list(tags)
    shown = ", ".join(f"`{tag}`" for tag in listed[:5]) + (", …" if len(listed) > 5 else "")
    return f"{noun}{'s' if len(listed) > 1 else ''} {shown} {'are' if len(listed) > 1 else 'is'}"


def _close(wanted: Iterable[str], tags: tuple[str, ...]) -> str:
    close = next((found for tag in wanted if (found := near_miss(tag, tags)) is not None and tag not in tags), None)
    return f" (`{close}` is close; tags are exact)" if close is not None else ""
