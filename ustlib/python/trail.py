# SPDX-License-Identifier: MIT
"""Tracepoints and logging for trailfs, by libtrail and ctypes alone. See trail-python(3).

    import logging, trail
    logging.getLogger().addHandler(trail.Handler())

    request = trail.Event("my_app", "request", {"id": int, "path": str})
    request(42, "/index.html")
"""
import ctypes
import functools
import logging
import re
import threading

__all__ = ["Event", "Handler"]

# Levels as trail.h numbers them
EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO = range(7)
DEBUG_LINE, DEBUG = 13, 14

_LAYOUTS_MAX = 96  # of TRAIL_EVENTS_MAX, 128: programs may have events of their own
_LEAST, _MOST = -1 << 63, (1 << 63) - 1  # of a field of type int


class _Field(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int)]


class _Union(ctypes.Union):
    _fields_ = [("i", ctypes.c_longlong), ("d", ctypes.c_double), ("s", ctypes.c_char_p)]


class _Value(ctypes.Structure):
    _anonymous_ = ["u"]
    _fields_ = [("type", ctypes.c_int), ("u", _Union)]


# What a Python type is: enum trail_value_type, the member of the union
_TYPES = {bool: (2, "i"), int: (1, "i"), float: (3, "d"), str: (4, "s")}

_lib = ctypes.CDLL("libtrail.so.0")
_lib.trail_event_create.argtypes = [
    ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint,
    ctypes.POINTER(_Field), ctypes.c_uint]
_lib.trail_event_destroy.argtypes = [ctypes.c_void_p]
_lib.trail_event_destroy.restype = None
_lib.trail_event_state.argtypes = [ctypes.c_void_p]
_lib.trail_event_state.restype = ctypes.POINTER(ctypes.c_uint)
_lib.trail_event_record.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Value)]
_lib.trail_event_record.restype = None


def _bytes(text):
    """UTF-8 without the NUL that would end it."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace")


class Event:
    """The event provider:name. Calling it with a value for each field records it.

    fields: a dictionary, or pairs, of up to 64 names and types, which are int (of 64 bits with a
    sign), float, str and bool (an integer, 0 or 1). A value of another type is recorded as str()
    has it. Raises OSError if the event cannot be made, with errno EINVAL, ENOSPC (there are 128)
    or ENOMEM.

    A call raises TypeError for a wrong number of values. With a value that its field cannot hold,
    it counts as a lost event: a program does not fail because it is traced.
    """

    def __init__(self, provider, name, fields=(), level=DEBUG_LINE):
        fields = list(fields.items() if hasattr(fields, "items") else fields)
        for field, kind in fields:
            if not isinstance(kind, type):
                raise TypeError("field %s: %r is not a type" % (field, kind))
        kinds = [_TYPES.get(kind, _TYPES[str]) for _, kind in fields]
        table = (_Field * len(fields))(
            *((_bytes(field), kind[0]) for (field, _), kind in zip(fields, kinds)))
        event = ctypes.c_void_p()
        error = _lib.trail_event_create(ctypes.byref(event), _bytes(provider), _bytes(name),
                                        level, table, len(fields))
        if error:
            raise OSError(-error, "%s:%s cannot be an event" % (provider, name))
        self._event = event
        self._members = [kind[1] for kind in kinds]
        self._values = _Value * len(fields)
        self._state = _lib.trail_event_state(event)

    def __del__(self):
        if hasattr(self, "_event"):
            _lib.trail_event_destroy(self._event)

    @property
    def enabled(self):
        """Whether a session wants it. It needs not be asked before a call."""
        return self._state[0] != 0

    def __call__(self, *values):
        if len(values) != len(self._members):
            raise TypeError("%d values for %d fields" % (len(values), len(self._members)))
        if not self._state[0]:
            return
        out = self._values()
        try:
            for slot, member, value in zip(out, self._members, values):
                if member == "s":
                    value = _bytes(str(value))
                elif member == "i" and not _LEAST <= value <= _MOST:
                    raise OverflowError
                setattr(slot, member, value)
        except Exception:
            out = None
        _lib.trail_event_record(self._event, out)


_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_BASE = (("level", int), ("logger", str), ("message", str))
_lock = threading.Lock()
_events = {}  # by (name, level, fields); guarded by _lock for changes


def _level_of(number):
    """Python's levels count up, those of events down."""
    for least, level in ((logging.CRITICAL, CRIT), (logging.ERROR, ERR),
                         (logging.WARNING, WARNING), (logging.INFO, INFO)):
        if number >= least:
            return level
    return DEBUG


def _field_of(key, value):
    """The field of an item of `extra`: its name, type and value."""
    kind = type(value)
    if kind not in _TYPES or (kind is int and not _LEAST <= value <= _MOST):
        kind, value = str, str(value)
    return re.sub(r"\W", "_", str(key), flags=re.ASCII)[:100], kind, value


def _extra_of(record):
    """The items of `extra` as (name, type) and values; each name once."""
    # Nearly no record has any, and then it has no further keys.
    if record.__dict__.keys() <= _STANDARD:
        return (), ()
    fields, values, names = [], [], {"level", "logger", "message"}
    for key, value in record.__dict__.items():
        if key in _STANDARD or len(fields) == 60:
            continue
        name, kind, value = _field_of(key, value)
        while name in names or not name:
            name += "_"
        names.add(name)
        fields.append((name, kind))
        values.append(value)
    return tuple(fields), values


@functools.lru_cache(maxsize=1024)
def _name_of(logger):
    """What the event of a logger is called."""
    return re.sub(r"[^\w.:@+-]", "_", logger, flags=re.ASCII)[:255] or "logging"


def _event_of(name, level, fields):
    """The event of a logger with these extra fields; None: there are too many, or it failed."""
    key = (name, level, fields)
    event = _events.get(key)
    if event is None and (len(_events) < _LAYOUTS_MAX or name == "logging"):
        with _lock:
            try:
                event = _events.get(key) or Event("python", name, _BASE + fields, level)
                _events[key] = event
            except OSError:
                return None
    return event


class Handler(logging.Handler):
    """Records each log record as the event python:LOGGER.

    Its fields are level (Python's number), logger, message (the formatter's, if one is set), and
    the items of `extra`: int, float, str and bool as such, others as str() has them. The level of
    the event follows from the record's. A logger has an event for each combination of level and
    names and types of extra items; after 96 combinations, further ones are python:logging, with
    the extra items in one string.
    """

    def emit(self, record):
        try:
            fields, values = _extra_of(record)
            level = _level_of(record.levelno)
            event = _event_of(_name_of(record.name), level, fields)
            if event is None:
                text = " ".join("%s=%r" % (f[0], v) for f, v in zip(fields, values))
                event, values = _event_of("logging", level, (("extra", str),)), [text]
            if event is not None and event.enabled:
                event(record.levelno, record.name, self._message(record), *values)
        except Exception:  # as the handlers of the standard library do
            self.handleError(record)

    def _message(self, record):
        if self.formatter or record.exc_info or record.stack_info:
            return self.format(record)
        return record.getMessage()
