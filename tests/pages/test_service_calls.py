"""Every function that calls the API, with arguments that are all distinct: what it asks and sends, in `facts/service_calls.txt`.

Functions for large lists and rare filters are on no page of the small samples. After a change that is meant, WRITE_FACTS=1
writes the file anew; read the difference.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from itertools import count
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import msgspec
import pytest

import portal.services
from portal.services import retry
from portal.services.decoding import Record
from portal.services.errors import CareError
from tests.pages import test_facts as facts
from tests.support.care import care_of
from tests.support.fake_api import FakeApi, sample
from tests.support.in_process import InProcess
from tests.support.whole import _BY_CHANCE

DAY_ONE = datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_each_function_asks_and_sends_what_it_is_given(
    in_process: InProcess, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "_JITTER", (0.0, 0.0))
    told: list[str] = []
    for name, function in _functions():
        fake_api.forget()
        with in_process.app.test_request_context():
            told += [f"== {name}", *_called(fake_api, function), ""]
    facts.compare("service_calls", told)


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in pkgutil.walk_packages(portal.services.__path__, "portal.services."):
        for name, function in inspect.getmembers(importlib.import_module(module.name), inspect.isfunction):
            parameters = [*inspect.signature(function).parameters]
            if function.__module__ == module.name and name[0] != "_" and parameters[:1] == ["care"]:
                yield f"{module.name.removeprefix('portal.services.')}.{name}", function


def _called(fake_api: FakeApi, function: Callable[..., Any]) -> Iterator[str]:
    numbers = count(3)
    hints = get_type_hints(function)
    parameters = [*inspect.signature(function).parameters.values()][1:]
    given = [(one, _value(hints[one.name], one.name, numbers)) for one in parameters]
    api = cast("Any", SimpleNamespace(url="http://api.localhost"))
    care = replace(care_of(api), references=None, deadline=time.monotonic() + 60)
    named = {one.name: value for one, value in given if one.kind is one.KEYWORD_ONLY}
    try:
        function(care, *(value for one, value in given if one.kind is not one.KEYWORD_ONLY), **named)
    except CareError as error:
        yield f"raises {type(error).__name__}"
    for call in sorted(
        fake_api.calls, key=lambda one: (one.row.is_safe, one.path, sorted(one.query.items()))
    ):
        yield _BY_CHANCE.sub("…", f"{call.row.method} {call.path} {json.dumps(call.query, sort_keys=True)}")
        for name, value in sorted((call.body or {}).items()) if isinstance(call.body, dict) else ():
            text = json.dumps(value)
            yield f"  {name}: {text if len(text) < 100 else '…'}"  # the rest of it is in acts.txt


def _value(kind: Any, name: str, numbers: Iterator[int]) -> Any:
    if get_origin(kind) in (Union, UnionType):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    number = next(numbers)
    match get_origin(kind) or kind:
        case one if one is str:
            return f"{name}-{number}"
        case one if one is bool:
            return True
        case one if one is int:
            return number
        case one if one is datetime:
            return DAY_ONE + timedelta(days=number)
        case one if one is date:
            return (DAY_ONE + timedelta(days=number)).date()
        case one if isinstance(one, type) and issubclass(one, Enum):
            return [*one][number % len(one)]
        case one if isinstance(one, type) and issubclass(one, Mapping):
            return {name: f"{name}-{number}"}
        case one if isinstance(one, type) and issubclass(one, Sequence):
            return [f"{name}-{number}", f"{name}-{next(numbers)}"]
        case one if isinstance(one, type) and issubclass(one, Record):
            return sample(kind)
        case one if isinstance(one, type) and issubclass(one, msgspec.Struct):
            hints = get_type_hints(one)
            return one(**{part: _value(hints[part], part, numbers) for part in one.__struct_fields__})
        case one:
            raise TypeError(one)
