# SPDX-License-Identifier: MIT
"""Tracepoints and logging for trailfs, by libtrail and ctypes alone. See trail-python(3).

    import logging, trail
    logging.getLogger().addHandler(trail.Handler())

    request = trail.Event("my_app", "request", {"id": int, "path": str})
    request(42, "/index.html")
"""
import copy
import ctypes
import functools
import logging
import os
import re
import threading

__all__ = ["Event", "Handler"]

# Levels as trail.h numbers them
EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO = range(7)
DEBUG_LINE, DEBUG = 13, 14

_EXTRA_MAX = 60  # fields of one event, beside those of _BASE
_LAYOUTS_MAX = 96  # of TRAIL_EVENTS_MAX, 128: programs may have events of their own
_LEAST, _MOST = -1 << 63, (1 << 63) - 1  # of a field of type int


class _Field(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int)]


class _Union(ctypes.Union):
    _fields_ = [("i", ctypes.c_longlong), ("d", ctypes.c_double), ("s", ctypes.c_char_p)]


class _Value(ctypes.Structure):
    _anonymous_ = ["u"]
    _fields_ = [("type", ctypes.c_int), ("u", _Union)]


# What a Python type is: enum trail_value_type, the member of the union, least and most
_TYPES = {bool: (2, "i", 0, 1), int: (1, "i", _LEAST, _MOST), float: (3, "d", 0, 0),
          str: (4, "s", 0, 0)}

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

    # When the interpreter ends, events may outlive what the module's names stand for.
    _record = _lib.trail_event_record
    _destroy = _lib.trail_event_destroy

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
        self._members = [kind[1:] for kind in kinds]
        self._values = _Value * len(fields)
        self._state = _lib.trail_event_state(event)

    def __del__(self):
        if hasattr(self, "_event"):
            self._destroy(self._event)

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
            for slot, (member, least, most), value in zip(out, self._members, values):
                if member == "s":
                    value = _bytes(str(value))
                elif member == "i" and not least <= value <= most:
                    raise OverflowError
                setattr(slot, member, value)
        except Exception:
            out = None
        self._record(self._event, out)

    def _lose(self):
        """Counts it as lost; it has fields."""
        self._record(self._event, None)


_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_BASE = (("level", int), ("logger", str), ("message", str))
_events = {}  # by (name, level, fields); guarded by _lock for changes
_shared = {}  # by level, for records without an event of their own; guarded likewise


def _new_lock():
    # What a signal handler or a finalizer logs comes while this thread holds the lock.
    global _lock
    _lock = threading.RLock()


_new_lock()
# Another thread of the parent may have held it, which the child does not have.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def _level_of(number):
    """Python's levels count up, those of events down."""
    for least, level in ((logging.CRITICAL, CRIT), (logging.ERROR, ERR),
                         (logging.WARNING, WARNING), (logging.INFO, INFO)):
        if number >= least:
            return level
    return DEBUG


def _field_of(key, value):
    """The field of an item of `extra`: its name and type."""
    kind = type(value)
    if kind not in _TYPES or (kind is int and not _LEAST <= value <= _MOST):
        kind = str
    return re.sub(r"\W", "_", str(key), flags=re.ASCII)[:100], kind


def _extra_of(record):
    """The items of `extra`: keys and values."""
    # Nearly no record has any, and then it has no further keys.
    if record.__dict__.keys() <= _STANDARD:
        return ()
    return [item for item in record.__dict__.items() if item[0] not in _STANDARD]


def _fields_of(extra):
    """The fields of these items; each name once."""
    fields, names = [], {"level", "logger", "message"}
    for key, value in extra:
        name, kind = _field_of(key, value)
        while name in names or not name:
            name += "_"
        names.add(name)
        fields.append((name, kind))
    return tuple(fields)


@functools.lru_cache(maxsize=1024)
def _name_of(logger):
    """What the event of a logger is called."""
    return re.sub(r"[^\w.:@+-]", "_", logger, flags=re.ASCII)[:255] or "logging"


def _event_of(name, level, fields):
    """The event of a logger with these extra fields; None: there are too many, or it failed."""
    key = (name, level, fields)
    event = _events.get(key)
    if event is None and len(_events) < _LAYOUTS_MAX:
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
    the extra items in one string, as are records with more than 60 extra items.

    A record whose message or items cannot be made a string, such as one with wrong arguments for
    %, counts as a lost event: a program neither fails nor prints because it is traced.
    """

    def __init__(self, level=logging.NOTSET):
        super().__init__(level)
        # Now, as later the program may have used all events itself.
        with _lock:
            for number in {CRIT, ERR, WARNING, INFO, DEBUG} - _shared.keys():
                try:
                    _shared[number] = Event("python", "logging", _BASE + (("extra", str),), number)
                except OSError:
                    break

    def emit(self, record):
        event = None
        try:
            level = _level_of(record.levelno)
            event = shared = _shared.get(level)
            extra = _extra_of(record)
            if len(extra) <= _EXTRA_MAX:
                name = _name_of(record.name)
                event = _event_of(name, level, _fields_of(extra) if extra else ()) or shared
            if event is None or not event.enabled:
                return
            if event is shared:
                values = [" ".join("%s=%r" % item for item in extra)]
            else:
                values = [item[1] for item in extra]
            event(record.levelno, record.name, self._message(record), *values)
        except Exception:
            if event is not None:
                event._lose()

    def _message(self, record):
        if self.formatter or record.exc_info or record.stack_info:
            # What a formatter keeps in the record, such as exc_text, other handlers would print.
            return self.format(copy.copy(record))
        return record.getMessage()
