"""What the mechanism knows of one kind, and whether that fits together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeGuard

from attrs import field, fields, frozen

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.kinds.fields import Attributes, FieldRule, field_rules
from engram_core.kinds.relations import emitted_by
from engram_core.policy import Decay
from engram_core.vocab import Relation

__all__ = ["Column", "ColumnType", "KindSpec", "Upcaster", "is_version"]

Upcaster: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Makes the raw attributes of the next version from its own copy of those of one version."""

ColumnType: TypeAlias = Literal["TEXT", "REAL", "INTEGER"]
"""The type of a view's column; booleans are INTEGER, lists are JSON in TEXT."""


class Column(NamedTuple):
    """A column of a kind's view: where it lies in the stored attributes, and its type."""

    path: str
    type: ColumnType


_COLUMN_TYPES: Final[Mapping[str, ColumnType]] = MappingProxyType({"number": "REAL", "flag": "INTEGER"})
_WORDS: Final = frozenset({"text", "texts"})
_MOST_VERSIONS: Final = 10_000


# The converters leave what does not fit as it is; `_misshapen` tells of it with all else that is wrong.


def _frozen_map(given: Any) -> Any:
    return MappingProxyType(dict(given)) if isinstance(given, Mapping) else given


def _frozen_set(given: Iterable[Relation]) -> frozenset[Relation]:
    listed = tuple(given) if isinstance(given, list | tuple | set | frozenset) else (None,)
    fitting = all(isinstance(name, str) and name in tuple(Relation) for name in listed)
    return frozenset(Relation(name) for name in listed if name) if fitting else given  # type: ignore[return-value]


def _names(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given) if isinstance(given, list) else given  # type: ignore[return-value]


@frozen(kw_only=True)
class KindSpec:
    """All that the mechanism knows of a kind.

    Attributes:
        kind: Its name, as stored.
        attributes: Its class.
        version: Version of the class's form, from 1.
        upcasters: By version, what makes raw attributes of the next one; none may be missing below `version`.
        emits: Relations that its memories may emit; by default those that every kind may, and for the twelve
            what `RELATIONS` says.
        requires: How many edges of a relation a memory must have when it is created.
        label_fields: Those of which the first that is present names a memory.
        alias_field: The one of other names, if it has one.
        text_fields: Those that full text covers; by default all that hold text.
        decay: How it fades, for a kind beyond the twelve; those have theirs in `Policy.decay`.
        entity: True for a thing in the world that may be known twice, and merged.
        view: Name of its SQL view.
        columns: The view's columns; by default one for each field, of its name.
        hot_fields: Those that are filtered often, and get an index.
        rules: What each field may hold, in field order; derived, as are the next two.
        names: All fields.
        required: Those that must be given.

    Raises: InvalidAttributesError that lists all that does not fit together.
    """

    kind: str = field(converter=str)
    attributes: type[Attributes]
    view: str
    label_fields: tuple[str, ...] = field(converter=_names)
    version: int = 1
    upcasters: Mapping[int, Upcaster] = field(default=MappingProxyType({}), converter=_frozen_map)
    emits: frozenset[Relation] = field(converter=_frozen_set)
    requires: Mapping[Relation, int] = field(default=MappingProxyType({}), converter=_frozen_map)
    alias_field: str | None = None
    text_fields: tuple[str, ...] = field(converter=_names)
    decay: Decay | None = None
    entity: bool = False
    columns: Mapping[str, Column] = field(converter=_frozen_map)
    hot_fields: tuple[str, ...] = field(default=(), converter=_names)
    rules: tuple[FieldRule, ...] = field(init=False, repr=False, eq=False)
    names: frozenset[str] = field(init=False, repr=False)
    required: frozenset[str] = field(init=False, repr=False)

    @emits.default
    def _usual_relations(self) -> frozenset[Relation]:
        return emitted_by(self.kind)

    @text_fields.default
    def _texts(self) -> tuple[str, ...]:
        return tuple(rule.name for rule in _rules(self.attributes) if rule.sort in _WORDS)

    @columns.default
    def _column_a_field(self) -> Mapping[str, Column]:
        return {
            rule.name: Column(f"$.{rule.name}", _COLUMN_TYPES.get(rule.sort, "TEXT"))
            for rule in _rules(self.attributes)
        }

    @rules.default
    def _field_rules(self) -> tuple[FieldRule, ...]:
        return _rules(self.attributes)

    @names.default
    def _field_names(self) -> frozenset[str]:
        return frozenset(rule.name for rule in _rules(self.attributes))

    @required.default
    def _required_names(self) -> frozenset[str]:
        return frozenset(rule.name for rule in _rules(self.attributes) if rule.is_required)

    def __reduce__(self) -> tuple[object, ...]:
        given = {part.name: getattr(self, part.name) for part in fields(KindSpec) if part.init}
        return _again, ({name: dict(v) if isinstance(v, Mapping) else v for name, v in given.items()},)

    def __attrs_post_init__(self) -> None:
        problems = [Problem(*problem) for problem in _misshapen(self)]
        problems = problems or [Problem(*problem) for problem in _misfits(self)]
        if problems:
            raise InvalidAttributesError(f"kind {self.kind!r}", problems)


def _again(given: dict[str, Any]) -> KindSpec:
    """A spec that comes out of a pickle or a copy."""
    return KindSpec(**given)


def _rules(attributes: object) -> tuple[FieldRule, ...]:
    return field_rules(attributes) if _is_attribute_class(attributes) else ()


def _is_attribute_class(given: object) -> TypeGuard[type[Attributes]]:
    return isinstance(given, type) and issubclass(given, Attributes) and hasattr(given, "__attrs_attrs__")


def is_version(number: object) -> bool:
    """Whether something can be the version of a form: a whole number from 1."""
    return type(number) is int and number >= 1


def _misshapen(spec: KindSpec) -> Iterator[tuple[str, str]]:
    """What in a spec is of another sort than its field, as (field, problem)."""
    if not _is_attribute_class(spec.attributes):
        yield "attributes", "must be a frozen attrs class derived from Attributes"
    if not isinstance(spec.view, str):
        yield "view", "must be a name of letters, digits and _"
    if type(spec.version) is not int or spec.version > _MOST_VERSIONS:
        yield "version", f"must be a whole number from 1 to {_MOST_VERSIONS:,}"
    for name in ("label_fields", "text_fields", "hot_fields"):
        given = getattr(spec, name)
        if not isinstance(given, tuple) or not all(isinstance(field, str) for field in given):
            yield name, "must be a tuple of names of fields"
    if spec.alias_field is not None and not isinstance(spec.alias_field, str):
        yield "alias_field", "must be the name of a field"
    if spec.decay is not None and not isinstance(spec.decay, Decay):
        yield "decay", "must be a Decay"
    if not isinstance(spec.entity, bool):
        yield "entity", "must be True or False"
    emits: Any = spec.emits
    if not isinstance(emits, frozenset) or not all(isinstance(name, Relation) for name in emits):
        yield "emits", f"must be a set of {', '.join(Relation)}"
    for name, keys, values, wanted in (
        ("upcasters", int, Callable, "versions to functions"),
        ("requires", str, int, "relations to whole numbers"),
        ("columns", str, Column, "names to Columns"),
    ):
        given = getattr(spec, name)
        if not isinstance(given, Mapping) or not all(
            isinstance(key, keys) and isinstance(value, values)  # type: ignore[arg-type] # Callable is one
            for key, value in given.items()
        ):
            yield name, f"must be a mapping of {wanted}"


def _misfits(spec: KindSpec) -> Iterator[tuple[str, str]]:
    """What does not fit together in a spec, as (field, problem)."""
    if not spec.kind.isidentifier() or not spec.kind.islower():
        yield "kind", "must be a lower-case name of letters, digits and _"
    if not spec.view.isidentifier():
        yield "view", "must be a name of letters, digits and _"
    if not is_version(spec.version):
        yield "version", "must be a whole number from 1"
    else:
        yield from _misfit_upcasters(spec)
    sorts = {rule.name: rule.sort for rule in spec.rules}
    for place, names, fitting in (
        ("label_fields", spec.label_fields, {"text", "word"}),
        ("alias_field", (spec.alias_field,) if spec.alias_field else (), {"texts"}),
        ("text_fields", spec.text_fields, _WORDS),
        ("hot_fields", spec.hot_fields, set(sorts.values()) - {"texts"}),
    ):
        for name in names:
            if name not in sorts:
                yield place, f"{name!r} is not a field of {spec.attributes.__name__}"
            elif sorts[name] not in fitting:
                yield place, f"{name!r} cannot serve, being of the sort {sorts[name]!r}"
    if not spec.label_fields:
        yield "label_fields", "must name a field"
    yield from _misfit_columns(spec, sorts)
    for relation, least in spec.requires.items():
        if relation not in spec.emits:
            yield "requires", f"{relation} is not among the relations that it emits"
        elif not is_version(least):
            yield "requires", f"{relation} must be required a whole number of times, from 1"


def _misfit_upcasters(spec: KindSpec) -> Iterator[tuple[str, str]]:
    missing = [version for version in range(1, spec.version) if version not in spec.upcasters]
    if missing:
        yield "upcasters", f"none leads from version {', '.join(map(str, missing))} to the next"
    unused = [version for version in spec.upcasters if version not in range(1, spec.version)]
    if unused:
        listed = ", ".join(str(version) for version in unused)
        yield "upcasters", f"{listed} is not below the current version {spec.version}"


def _misfit_columns(spec: KindSpec, sorts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, column in spec.columns.items():
        if not name.isidentifier():
            yield "columns", f"{name!r} is not a name of letters, digits and _"
        source = column.path.removeprefix("$.")
        expected = _COLUMN_TYPES.get(sorts.get(source, ""), "TEXT")
        if not column.path.startswith("$.") or source not in sorts:
            yield "columns", f"the path {column.path!r} of {name!r} leads to no field"
        elif column.type != expected:
            yield "columns", f"{name!r} must be {expected}, not {column.type}"
