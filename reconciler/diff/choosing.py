"""For which declared resource may this one stand? Asked when a person names what is to be adopted.

The program was run, so what it declares and the state lacks is known. By type and the tags of a slot, else by name,
else by tags; exactly one must fit, or the person says which. What the create depends on and is not in the state either
is taken from the machine's own parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.diff.matching import likeliest, matches, wanted
from reconciler.model.resources import Ref, Resource
from reconciler.model.state import KIND_OF_TYPE
from reconciler.ports.engine import PlannedCreate


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """URN -> ref, in one stack; `why` the first one fits."""

    stack: str
    targets: Mapping[str, Ref]
    why: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why there is no choice, and the URNs that there are."""

    why: str
    urns: tuple[str, ...] = ()


def choose(
    resource: Resource,
    declared: Mapping[str, Sequence[PlannedCreate]],
    *,
    parts: Sequence[Resource] = (),
    urn: str | None = None,
) -> Choice | Unclear:
    """`declared`: stack -> what its program would create. `parts`: what hangs on the resource and no state holds."""
    creates = {create.urn: (stack, create) for stack, listed in declared.items() for create in listed if create.custom}
    same_type = tuple(key for key, (_, one) in creates.items() if KIND_OF_TYPE.get(one.type) is resource.ref.kind)
    if urn is not None:
        if urn not in creates:
            return Unclear(f"no program that was run would create {urn}", same_type)
        fitting = {urn: "you said so"}
    else:
        fitting = _fitting(resource, (creates[key][1] for key in same_type))
    if len(fitting) != 1:
        what = "none of what the programs would create fits it" if not fitting else "several would fit it"
        return Unclear(what, tuple(fitting) or same_type)
    ((chosen, why),) = fitting.items()
    stack = creates[chosen][0]
    missing = _with_dependencies(chosen, {key: one for key, (of, one) in creates.items() if of == stack}, parts)
    if isinstance(missing, Unclear):
        return missing
    return Choice(stack=stack, targets={chosen: resource.ref, **missing}, why=why)


def _fitting(resource: Resource, creates: Iterable[PlannedCreate]) -> dict[str, str]:
    """URN -> why; the strong ones, or all when none is."""
    found = {}
    for create in creates:
        want = wanted(create.type, create.inputs)
        for match in matches(want, [resource]) if want is not None else ():
            found[create.urn] = match
    strong = {urn: match for urn, match in found.items() if match.strong}
    return {urn: match.why for urn, match in (strong or found).items()}


def _with_dependencies(
    urn: str, creates: Mapping[str, PlannedCreate], parts: Sequence[Resource]
) -> dict[str, Ref] | Unclear:
    """What must enter the state before it: from the parts, each taken once."""
    found: dict[str, Ref] = {}
    waiting, seen = [*creates[urn].dependencies], {urn}
    while waiting:
        needed = waiting.pop()
        create = creates.get(needed)
        if needed in seen or create is None or create.type.startswith("pulumi:"):
            continue
        seen.add(needed)
        waiting += create.dependencies
        part = _part(create, [one for one in parts if one.ref not in found.values()])
        if part is None:
            return Unclear(f"{needed} must be in the state first: name the resource that it stands for too", (needed,))
        found[needed] = part.ref
    return found


def _part(create: PlannedCreate, parts: Sequence[Resource]) -> Resource | None:
    """The part that a create stands for: the one that fits, or the only one of its kind."""
    kind = KIND_OF_TYPE.get(create.type)
    same = [one for one in parts if one.ref.kind is kind]
    want = wanted(create.type, create.inputs)
    fitting = [match.resource for match in likeliest(matches(want, same))] if want is not None else []
    found = fitting or same
    return found[0] if len(found) == 1 else None
