"""What all tables are made of: names of constraints, and columns that come again."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, MetaData, Text, text
from sqlalchemy.dialects.postgresql import JSONB

NAMING: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata: Final = MetaData(naming_convention=NAMING)


def json_column() -> JSON:
    return JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def text_column(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable)


def ms_column(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def scope_column() -> Column[str]:
    return Column("scope_id", Text, ForeignKey("scopes.id", ondelete="RESTRICT"), nullable=False)


def ref_columns() -> tuple[Column[Any], ...]:
    return text_column("kind"), text_column("zone"), text_column("provider_id")


def ref_key() -> tuple[Column[Any], ...]:
    """Scope and ref as the primary key: one row of memory for one resource of one scope."""
    scope = Column("scope_id", Text, ForeignKey("scopes.id", ondelete="RESTRICT"), primary_key=True)
    return scope, *(Column(name, Text, primary_key=True) for name in ("kind", "zone", "provider_id"))


def only_where(condition: str) -> dict[str, Any]:
    return {"postgresql_where": text(condition), "sqlite_where": text(condition)}
