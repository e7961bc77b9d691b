"""Values out of a resource, typed: None where they are null, absent or of another kind."""

from __future__ import annotations

import math
from typing import Any

from ...json_document import as_dict, as_list, as_text

Resource = dict[str, Any]


def text(resource: Resource, *names: str) -> str | None:
    """The first of these members that holds words; blanks at its ends are no part of it."""
    return next((words for name in names if (words := as_text(resource.get(name)).strip())), None)


def number(resource: Resource, *names: str) -> float | None:
    """The first of these members that holds a number."""
    for name in names:
        value = resource.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    return None


def whole(resource: Resource, name: str) -> int | None:
    """A whole number."""
    value = resource.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def flag(resource: Resource, name: str) -> bool | None:
    """True or false."""
    value = resource.get(name)
    return value if isinstance(value, bool) else None


def below(resource: Resource, *names: str) -> Resource:
    """The object reached by these members, empty where there is none."""
    for name in names:
        resource = as_dict(resource.get(name))
    return resource


def objects(resource: Resource, name: str) -> list[Resource]:
    """The objects of a list; what is no object is left out."""
    return [one for one in as_list(resource.get(name)) if isinstance(one, dict)]


def path_of(resource: Resource) -> str:
    """Where the resource stands: its `@odata.id`, else its own name in its list."""
    return text(resource, "@odata.id", "DataSourceUri", "MemberId", "Id") or ""


def name_of(resource: Resource) -> str:
    """`Name`, or what the resource has in its place."""
    return text(resource, "Name", "FanName", "Id", "MemberId") or path_of(resource).rpartition("/")[2]


def type_of(resource: Resource) -> str:
    """`#Sensor.v1_2_0.Sensor` -> `Sensor`; by the `@odata.context` where the type is absent."""
    return (text(resource, "@odata.type") or text(resource, "@odata.context") or "").rpartition(".")[2]
