"""Which kinds there are: an immutable value, through which all attributes go in and come out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeGuard

from attrs import field, frozen

from engram_core.errors import HistoryError, InvalidAttributesError, Problem
from engram_core.kinds.fields import Attributes, FieldRule, field_rules, plain
from engram_core.kinds.relations import RELATIONS, emitted_by
from engram_core.policy import Decay
from engram_core.vocab import Relation

__all__ = ["Column", "ColumnType", "KindRegistry", "KindSpec", "Raw", "Upcaster"]

Raw: TypeAlias = Mapping[str, Any]
"""Attributes as JSON holds them."""

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


def _frozen_map(given: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(dict(given))


def _frozen_set(given: Iterable[Relation]) -> frozenset[Relation]:
    return frozenset(Relation(relation) for relation in given)


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
    label_fields: tuple[str, ...]
    version: int = 1
    upcasters: Mapping[int, Upcaster] = field(default=MappingProxyType({}), converter=_frozen_map)
    emits: frozenset[Relation] = field(converter=_frozen_set)
    requires: Mapping[Relation, int] = field(default=MappingProxyType({}), converter=_frozen_map)
    alias_field: str | None = None
    text_fields: tuple[str, ...] = field()
    decay: Decay | None = None
    entity: bool = False
    columns: Mapping[str, Column] = field(converter=_frozen_map)
    hot_fields: tuple[str, ...] = ()
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

    def __attrs_post_init__(self) -> None:
        problems = [Problem(*problem) for problem in _misfits(self)]
        if problems:
            raise InvalidAttributesError(f"kind {self.kind!r}", problems)


def _rules(attributes: object) -> tuple[FieldRule, ...]:
    return field_rules(attributes) if _is_attribute_class(attributes) else ()


def _is_attribute_class(given: object) -> TypeGuard[type[Attributes]]:
    return isinstance(given, type) and issubclass(given, Attributes) and hasattr(given, "__attrs_attrs__")


def _is_version(number: object) -> bool:
    return type(number) is int and number >= 1


def _misfits(spec: KindSpec) -> Iterator[tuple[str, str]]:
    """What does not fit together in a spec, as (field, problem)."""
    if not spec.kind.isidentifier() or not spec.kind.islower():
        yield "kind", "must be a lower-case name of letters, digits and _"
    if not _is_attribute_class(spec.attributes):
        yield "attributes", "must be a frozen attrs class derived from Attributes"
        return
    if not spec.view.isidentifier():
        yield "view", "must be a name of letters, digits and _"
    if not _is_version(spec.version):
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
        elif not _is_version(least):
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


@frozen(repr=False)
class KindRegistry:
    """The kinds of a space. A value: `with_kinds` makes a larger one, and nothing changes this one.

    Args:
        specs: One for each kind.

    Raises: InvalidAttributesError when two specs share a kind, a class or a view.
    """

    specs: tuple[KindSpec, ...] = field(converter=tuple[KindSpec, ...])
    _by_kind: Mapping[str, KindSpec] = field(init=False, eq=False)
    _by_class: Mapping[type, KindSpec] = field(init=False, eq=False)

    @_by_kind.default
    def _index_kinds(self) -> Mapping[str, KindSpec]:
        return {spec.kind: spec for spec in self.specs}

    @_by_class.default
    def _index_classes(self) -> Mapping[type, KindSpec]:
        return {spec.attributes: spec for spec in self.specs}

    def __attrs_post_init__(self) -> None:
        problems = [
            *(("kind", f"{name!r} is there twice") for name in _repeated(s.kind for s in self.specs)),
            *(("attributes", f"{cls} is there twice") for cls in _repeated(s.attributes for s in self.specs)),
            *(("view", f"{view!r} is there twice") for view in _repeated(s.view.lower() for s in self.specs)),
        ]
        if problems:
            raise InvalidAttributesError("kind registry", problems)

    def __repr__(self) -> str:
        return f"KindRegistry({', '.join(self.kinds)})"

    def __contains__(self, kind: object) -> bool:
        return kind in self._by_kind if isinstance(kind, str) else kind in self._by_class

    def __iter__(self) -> Iterator[KindSpec]:
        return iter(self.specs)

    def __len__(self) -> int:
        return len(self.specs)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the kinds, in the order of registration."""
        return tuple(self._by_kind)

    def with_kinds(self, *specs: KindSpec) -> KindRegistry:
        """A registry that holds these kinds, too."""
        return KindRegistry((*self.specs, *specs))

    def spec(self, kind: str | type | object) -> KindSpec:
        """What is known of a kind, asked for by its name, its class or an object of the class.

        Raises: InvalidAttributesError for a kind that is not here.
        """
        if isinstance(kind, str):
            found = self._by_kind.get(kind)
        else:
            found = self._by_class.get(kind if isinstance(kind, type) else type(kind))
        if found is None:
            if isinstance(kind, str):
                shown = repr(str(kind)) if len(kind) <= 40 else f"{kind[:40]!r}…"
            else:
                shown = (kind if isinstance(kind, type) else type(kind)).__name__
            problem = Problem("kind", f"{shown} is none of {', '.join(self.kinds)}")
            raise InvalidAttributesError("kind", [problem])
        return found

    def structure(self, kind: str | type, raw: Raw, version: int | None = None) -> Attributes:
        """The typed attributes of raw ones, through the same checks as a constructor call.

        Args:
            kind: Name or class.
            raw: Attributes as JSON holds them; an unknown field is refused, and nothing is coerced.
            version: Version of `raw`; None: the current one. An older one is brought up to date first.

        Raises: InvalidAttributesError that lists all problems; HistoryError for a version to come.
        """
        spec = self.spec(kind)
        if not isinstance(raw, Mapping):
            problem = Problem("attributes", f"must be a mapping, not {type(raw).__name__}")
            raise InvalidAttributesError(spec.kind, [problem])
        if version is not None and version != spec.version:
            raw = self.upcast(kind, raw, version)
        names = raw.keys()
        if spec.required <= names <= spec.names:
            try:
                return spec.attributes(**raw)
            except InvalidAttributesError as error:
                raise InvalidAttributesError(spec.kind, error.problems) from None
        raise InvalidAttributesError(spec.kind, _mapping_problems(spec, raw))

    def unstructure(self, attributes: Attributes) -> dict[str, Any]:
        """The form that JSON can hold, in field order; what is None or an empty list is left out."""
        present = ((rule.name, getattr(attributes, rule.name)) for rule in self.spec(attributes).rules)
        return {name: plain(value) for name, value in present if value is not None and value != ()}

    def upcast(self, kind: str | type, raw: Raw, version: int) -> dict[str, Any]:
        """Raw attributes of the current version, made from the whole of an older one; not checked otherwise.

        Raises: HistoryError for a version to come, or if an upcaster fails.
        """
        spec = self.spec(kind)
        if not _is_version(version) or version > spec.version:
            raise HistoryError(
                f"{spec.kind} has version {spec.version} here; version {version!r} cannot be read",
                code="newer_schema",
                hint="upgrade the application that reads it",
                kind=spec.kind,
                version=version,
            )
        current = dict(raw)
        for step in range(version, spec.version):
            try:
                current = dict(spec.upcasters[step](current))
            except Exception as error:
                raise HistoryError(
                    f"{spec.kind} could not be brought from version {step} to {step + 1}: {error!r}",
                    code="upcaster_failed",
                    kind=spec.kind,
                    version=step,
                ) from error
        return current

    def change(self, kind: str | type, raw: Raw, changes: Mapping[str, object]) -> dict[str, Any]:
        """Raw attributes with some fields replaced, checked as a whole.

        Args:
            kind: Name or class.
            raw: All attributes, of the current version.
            changes: New values by field, typed or raw. None clears an optional field.

        Raises: InvalidAttributesError that lists all problems; None for a required field is one.
        """
        spec = self.spec(kind)
        optional = spec.names - spec.required
        merged = {**raw, **changes}
        for name, value in changes.items():
            if value is None and name in optional:
                del merged[name]
        return self.unstructure(self.structure(kind, merged))

    def text(self, attributes: Attributes) -> tuple[tuple[str, str], ...]:
        """The texts of full text search, as (field, text); a list gives a pair for each entry."""
        found: list[tuple[str, str]] = []
        for name in self.spec(attributes).text_fields:
            value = getattr(attributes, name)
            found.extend((name, text) for text in ((value,) if isinstance(value, str) else value or ()))
        return tuple(found)

    def label(self, attributes: Attributes) -> str:
        """What names the memory: its first label field that is present, else nothing."""
        values = (getattr(attributes, name) for name in self.spec(attributes).label_fields)
        return next((str(value) for value in values if value and value.strip()), "")

    def aliases(self, attributes: Attributes) -> tuple[str, ...]:
        """The other names of what is remembered."""
        alias = self.spec(attributes).alias_field
        return () if alias is None else tuple(getattr(attributes, alias))

    def link_problem(self, source: str, relation: Relation, target: str) -> str | None:
        """What forbids an edge between memories of two kinds; None if nothing does."""
        if relation not in self.spec(source).emits:
            return f"{source} may not emit {relation}"
        rule = RELATIONS[relation]
        if rule.targets is not None and target not in rule.targets:
            return f"{relation} leads to {' or '.join(sorted(rule.targets))}, not to {target}"
        if rule.alike and source != target:
            return f"{relation} joins {source} with {source}, not with {target}"
        return None


def _repeated(names: Iterable[object]) -> list[object]:
    seen: set[object] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]


def _mapping_problems(spec: KindSpec, raw: Raw) -> list[Problem]:
    """All problems of a mapping whose fields are not those of the kind; unknown fields come last."""
    known: dict[str, Any] = {name: raw.get(name) for name in spec.names if name in raw or name in spec.required}
    problems: list[Problem] = []
    try:
        spec.attributes(**known)
    except InvalidAttributesError as error:
        problems.extend(error.problems)
    listed = ", ".join(rule.name for rule in spec.rules)
    unknown = [str(name) for name in raw if name not in spec.names]
    for name in unknown:
        shown = name if len(name) <= 40 else f"{name[:40]}…"
        problems.append(Problem(shown, f"is not a field of {spec.kind}, which has {listed}"))
    return problems
