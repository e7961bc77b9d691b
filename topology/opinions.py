"""What sources say about the parts of one node, kept part by part: the most trusted stands, who differs is noted."""

from __future__ import annotations

from collections.abc import Mapping

from ..incident.ids import ComponentId
from .agreement import agree, canonical
from .claims import Contradiction, Source, Value


class Opinions:
    """Attributes of parts. Sources must speak in the order of their trust: the first that says something stands.

    A source that says two things says them of two moments, and contradicts nobody.
    """

    def __init__(self) -> None:
        self._facts: dict[ComponentId, dict[str, Value]] = {}
        self._said: dict[ComponentId, dict[str, Source]] = {}
        self._against: dict[tuple[ComponentId, str], dict[Source, Value]] = {}

    def say(self, component: ComponentId, attribute: str, value: Value, source: Source) -> None:
        """Take one statement into account."""
        meant = canonical(attribute, value)
        if meant is None:
            return
        facts = self._facts.setdefault(component, {})
        said = self._said.setdefault(component, {})
        if attribute not in facts:
            facts[attribute] = meant
            said[attribute] = source
        elif source is not said[attribute] and not agree(attribute, facts[attribute], said[attribute], meant, source):
            self._against.setdefault((component, attribute), {}).setdefault(source, meant)

    def say_all(self, component: ComponentId, facts: Mapping[str, Value], source: Source) -> None:
        """Take all facts of one claim into account."""
        for attribute, value in facts.items():
            self.say(component, attribute, value, source)

    def contradict(self, component: ComponentId, attribute: str, value: Value, source: Source) -> None:
        """Note that a source differs where the caller compared."""
        self._against.setdefault((component, attribute), {}).setdefault(source, value)

    def parts(self) -> tuple[ComponentId, ...]:
        """All parts that something is said about."""
        return tuple(self._facts)

    def facts(self, component: ComponentId) -> Mapping[str, Value]:
        """What stands about a part."""
        return self._facts.get(component, {})

    def said(self, component: ComponentId) -> Mapping[str, Source]:
        """Who said what stands."""
        return self._said.get(component, {})

    def value(self, component: ComponentId, attribute: str) -> Value | None:
        """One attribute; None where nobody says."""
        return self.facts(component).get(attribute)

    def number(self, component: ComponentId, attribute: str) -> int | None:
        """One attribute that counts something; None where nobody gives a number."""
        value = self.value(component, attribute)
        return int(value) if isinstance(value, int | float) else None

    def contradictions(self) -> tuple[Contradiction, ...]:
        """All parts of whom sources say different things."""
        return tuple(self._contradiction(*at, others) for at, others in self._against.items())

    def _contradiction(self, part: ComponentId, attribute: str, others: Mapping[Source, Value]) -> Contradiction:
        stands = ((self.said(part)[attribute], self.facts(part)[attribute]),) if attribute in self.said(part) else ()
        return Contradiction(part, attribute, (*stands, *others.items()))
