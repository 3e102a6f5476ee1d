"""From a checked document to the frozen values that are evaluated."""

from __future__ import annotations

from reconciler.model import policy as model
from reconciler.model.money import NANO
from reconciler.policy import document as doc


def build(document: doc.PolicyDocument, *, source: str) -> model.Policy:
    return model.Policy(
        name=document.name,
        source=source,
        scope=document.scope,
        separator=document.separator,
        mappings=tuple(
            model.TagMapping(key=one.key, pattern=one.pattern, write=one.write) for one in document.mappings
        ),
        rules=tuple(_rule(rule) for rule in document.rules),
        exceptions=tuple(_exception(one) for one in document.exceptions),
    )


def _rule(table: doc.RuleTable) -> model.Rule:
    return model.Rule(
        id=table.id,
        check=_tag_check(table) or _fact_check(table),
        severity=model.Severity(table.severity),
        kinds=tuple(dict.fromkeys(table.kinds or table.usual)),
        fleets=tuple(table.fleets or ()),
        message=table.message,
        hint=table.hint,
    )


def _tag_check(table: doc.RuleTable) -> model.Check | None:
    match table:
        case doc.RequiredTagsTable():
            return model.RequiredTags(tags=tuple(table.tags))
        case doc.RequiredKeysTable():
            return model.RequiredKeys(keys=tuple(table.keys), defaults=tuple(sorted(table.defaults.items())))
        case doc.AllowedValuesTable():
            return model.AllowedValues(key=table.key, values=tuple(table.values), patterns=tuple(table.patterns))
        case doc.AllowedTagsTable():
            return model.AllowedTags(tags=tuple(table.tags), patterns=tuple(table.patterns))
        case doc.ForbiddenTagsTable():
            return model.ForbiddenTags(tags=tuple(table.tags), patterns=tuple(table.patterns))
        case doc.TagCaseTable():
            return model.TagCase(case=table.case, keys=tuple(table.keys))
        case doc.TagFormTable():
            return model.TagForm(form=table.form)
        case doc.TagLimitsTable():
            return model.TagLimits(count=table.count, length=table.length, repeats=table.repeats)
        case doc.OwnershipTable():
            return model.Ownership(tags=tuple(table.tags or ()))
        case doc.CurrentRevisionTable():
            return model.CurrentRevision()
        case _:
            return None


def _fact_check(table: doc.RuleTable) -> model.Check:
    match table:
        case doc.NoPublicIpTable():
            return model.NoPublicIp()
        case doc.AllowedTypesTable():
            return model.AllowedTypes(types=tuple(table.types))
        case doc.AllowedZonesTable():
            return model.AllowedZones(zones=tuple(table.zones))
        case doc.MaxSizeTable():
            return model.MaxSize(gb=table.gb)
        case doc.MaxPriceTable():
            return model.MaxPrice(hour_nanos=round(table.eur_hour * NANO))
        case doc.MaxLifetimeTable():
            return model.MaxLifetime(seconds=table.age)
        case doc.DeletionProtectionTable():
            return model.DeletionProtection(protected=table.protected)
        case doc.MaxImageAgeTable():
            return model.MaxImageAge(seconds=table.age)
        case _:
            raise TypeError(type(table).__name__)


def _exception(table: doc.ExceptionTable) -> model.PolicyException:
    return model.PolicyException(
        rules=tuple(table.rules),
        reason=table.reason,
        owner=table.owner,
        expires_ms=table.expires_ms,
        names=tuple(table.names or ()),
        ids=tuple(table.ids or ()),
        urns=tuple(table.urns or ()),
        tags=tuple(table.tags or ()),
        fleets=tuple(table.fleets or ()),
    )
