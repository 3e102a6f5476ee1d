"""`adopt --write-code`: the declaration of what runs and is in no program.

Code only. What is in the program and not in the state is made a second time by `pulumi up`, and `pulumi import` is no
way in for a server: the `up` after it takes its address away (tried). The adoption itself proves the declaration equal
to what runs first, so what this writes need not be trusted.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.model.resources import Resource, Server, Volume
    from reconciler.model.scope import Scope
    from reconciler.model.world import World

_SHORTEST = 8


def write_code(options: Globals, names: tuple[str, ...], *, path: str, scope_name: str | None) -> int:
    """Write the declaration of resources that no program declares, as Python, to a new file or, for `-`, to stdout.

    Names are ids, in part or whole. Raises RefusedError when the file is there already (RC0578), and when the
    declaration would be wrong or a guess (RC0577, RC0579).
    """
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.sweeping import open_memories, sweep_scopes
    from reconciler.model.world import Sweep
    from reconciler.report.program_text import program_text

    out = Out(options)
    if path != "-" and Path(path).exists():
        raise RefusedError(f"{path!r} is there already", code="RC0578", hint="Nothing was written; name a new file.")
    runtime = open_runtime(options)
    scopes = runtime.scopes((scope_name,) if scope_name is not None else ())
    if len(scopes) > 1:
        raise UsageError(
            "a declaration is of one scope", code="RC0574", hint=f"Choose one: {', '.join(one.name for one in scopes)}."
        )
    memories = open_memories(runtime, out).reading()
    (result,) = sweep_scopes(runtime, scopes, memories=memories, trigger="adopt", out=out)
    if not isinstance(result, Sweep):
        return result.exit_status
    found = [_find(name, runtime, scopes[0], result.world) for name in names]
    roots = {volume.id: volume for volume in _roots(found, result.world)}
    out.text(program_text(found, roots=roots), path=None if path == "-" else Path(path))
    out.progress("Add it to the stack's program, then adopt it before the next `pulumi up`: `reconciler adopt --help`.")
    return EXIT_OK


def _find(name: str, runtime: Runtime, scope: Scope, world: World) -> Resource:
    resource = _one(name, [*_listed(name, world)] or [*_networks(name, runtime, scope)])
    _require_free(resource, scope, world)
    return resource


def _listed(name: str, world: World) -> Iterator[Resource]:
    bare = name.rpartition("/")[2]
    for ref, resource in sorted(world.inventory.by_ref.items()):
        if ref.id == bare or (len(bare) >= _SHORTEST and ref.id.startswith(bare)):
            yield resource


def _networks(name: str, runtime: Runtime, scope: Scope) -> Iterator[Resource]:
    """Private networks are in no list: asked for by their whole id, in the region that is named or in every one."""
    from reconciler.model.resources import Kind, Ref, region_of

    region, _, bare = name.rpartition("/")
    if len(bare) != 36:
        return
    for place in [region] if region else sorted({region_of(zone) for zone in scope.zones}):
        resource = runtime.cloud(scope).probe(Ref(Kind.PRIVATE_NETWORK, place, bare)).resource
        if resource is not None:
            yield resource


def _one(name: str, found: Sequence[Resource]) -> Resource:
    if not found:
        raise UsageError(
            f"nothing in the inventory has the id {name!r}",
            code="RC0575",
            hint="`reconciler drift -v` shows ids in full; a private network needs its whole id.",
        )
    if len(found) > 1:
        raise UsageError(f"{name!r} may be any of {len(found)} resources", code="RC0573", hint="Give the whole id.")
    return found[0]


def _require_free(resource: Resource, scope: Scope, world: World) -> None:
    from reconciler.diff.ownership import foreign_scope, never_reason
    from reconciler.report.program_text import WRITABLE

    ref = resource.ref
    if ref.kind not in WRITABLE:
        kinds = ", ".join(sorted(kind.value for kind in WRITABLE))
        raise UsageError(f"no code is written for {ref}", code="RC0576", hint=f"It can be done for: {kinds}.")
    entry = next(
        (e for _, s in sorted(world.states.items()) for e in s.resources if e.ref is not None and e.ref.id == ref.id),
        None,
    )
    why = f"it is declared and in the state already: {entry.urn}" if entry is not None else None
    if why is None and resource.project != scope.project:
        why = f"it belongs to project {resource.project}"
    other = foreign_scope(resource.tags, scope=scope)
    why = why or (f"it carries the owner tag of scope {other}" if other is not None else None)
    why = why or never_reason(resource, scope=scope)
    if ref in world.memory.doomed:
        why = why or "its deletion is decided"
    if why is not None:
        raise RefusedError(f"no code for {ref}: {why}", code="RC0577", hint="Nothing was written.")


def _roots(found: Sequence[Resource], world: World) -> Iterator[Volume]:
    from reconciler.model.resources import Ref, Server, Volume

    servers: list[Server] = [one for one in found if isinstance(one, Server)]
    for server in servers:
        if server.root is not None:
            root = world.inventory.by_ref.get(Ref(server.root.kind, server.zone, server.root.id))
            if not isinstance(root, Volume):
                raise RefusedError(
                    f"the root volume of {server.ref} was not read, so its declaration would be a guess",
                    code="RC0579",
                    hint="Nothing was written; run again when everything answers.",
                )
            yield root
