"""Which kinds there are: an immutable value, through which all attributes go in and come out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

from engram_core.errors import HistoryError, InvalidAttributesError, Problem
from engram_core.kinds.fields import Attributes, plain
from engram_core.kinds.relations import RELATIONS
from engram_core.kinds.specs import KindSpec, is_version
from engram_core.vocab import Relation

__all__ = ["KindRegistry", "Raw"]

Raw: TypeAlias = Mapping[str, Any]
"""Attributes as JSON holds them."""


def _specs(given: Any) -> tuple[KindSpec, ...]:
    listed: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) and not isinstance(given, type) else (given,)
    wrong = [type(spec).__name__ for spec in listed if not isinstance(spec, KindSpec)]
    if wrong:
        raise InvalidAttributesError("kind registry", [Problem("specs", f"must be KindSpecs, not {wrong[0]}")])
    return listed


@frozen(repr=False)
class KindRegistry:
    """The kinds of a space. A value: `with_kinds` makes a larger one, and nothing changes this one.

    Args:
        specs: One for each kind.

    Raises: InvalidAttributesError when two specs share a kind, a class or a view.
    """

    specs: tuple[KindSpec, ...] = field(converter=_specs)
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

    def __reduce__(self) -> tuple[object, ...]:
        return KindRegistry, (self.specs,)

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

    def _spec_of(self, attributes: Attributes) -> KindSpec:
        """What is known of the kind of an object."""
        found = self._by_class.get(type(attributes))
        if found is None:
            problem = Problem("attributes", f"must be an object of a kind, not {type(attributes).__name__}")
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
        _check_mapping(spec, raw, "attributes")
        if version is not None and (type(version) is not int or version != spec.version):
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
        present = [(rule.name, getattr(attributes, rule.name)) for rule in self._spec_of(attributes).rules]
        return {
            name: value if type(value) is str else plain(value)
            for name, value in present
            if value is not None and value != ()
        }

    def upcast(self, kind: str | type, raw: Raw, version: int) -> dict[str, Any]:
        """Raw attributes of the current version, made from the whole of an older one; not checked otherwise.

        Raises: HistoryError for a version to come, or if an upcaster fails.
        """
        spec = self.spec(kind)
        if not is_version(version) or version > spec.version:
            raise HistoryError(
                f"{spec.kind} has version {spec.version} here; version {version!r} cannot be read",
                code="newer_schema",
                hint="upgrade the application that reads it",
                kind=spec.kind,
                version=version,
            )
        _check_mapping(spec, raw, "attributes")
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
        _check_mapping(spec, raw, "attributes")
        _check_mapping(spec, changes, "changes")
        optional = spec.names - spec.required
        merged = {**raw, **changes}
        for name, value in changes.items():
            if value is None and name in optional:
                del merged[name]
        return self.unstructure(self.structure(kind, merged))

    def text(self, attributes: Attributes) -> tuple[tuple[str, str], ...]:
        """The texts of full text search, as (field, text); a list gives a pair for each entry."""
        found: list[tuple[str, str]] = []
        for name in self._spec_of(attributes).text_fields:
            value = getattr(attributes, name)
            found.extend((name, text) for text in ((value,) if isinstance(value, str) else value or ()))
        return tuple(found)

    def label(self, attributes: Attributes) -> str:
        """What names the memory: its first label field that is present, else nothing."""
        values = (getattr(attributes, name) for name in self._spec_of(attributes).label_fields)
        return next((str(value) for value in values if value and value.strip()), "")

    def aliases(self, attributes: Attributes) -> tuple[str, ...]:
        """The other names of what is remembered."""
        alias = self._spec_of(attributes).alias_field
        return () if alias is None else tuple(getattr(attributes, alias))

    def link_problem(self, source: str, relation: Relation, target: str) -> str | None:
        """What forbids an edge between memories of two kinds; None if nothing does."""
        if not all(isinstance(name, str) for name in (source, relation, target)):
            problem = Problem("link", "must be the name of a kind, a relation, and the name of a kind")
            raise InvalidAttributesError("link", [problem])
        if relation not in self.spec(source).emits:
            return f"{source} may not emit {relation}"
        rule = RELATIONS[relation]
        if rule.targets is not None and target not in rule.targets:
            return f"{relation} leads to {' or '.join(sorted(rule.targets))}, not to {target}"
        if rule.alike and source != target:
            return f"{relation} joins {source} with {source}, not with {target}"
        return None


def _check_mapping(spec: KindSpec, given: object, name: str) -> None:
    if not isinstance(given, Mapping):
        raise InvalidAttributesError(spec.kind, [Problem(name, f"must be a mapping, not {type(given).__name__}")])


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
