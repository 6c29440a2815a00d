// SPDX-License-Identifier: MIT

// Package trail records events of Go programs, by cgo and the C interface of <trail/event.h>: see
// trail-python(3).
//
//	var request = trail.MustEvent("my_app", "request", trail.DebugLine,
//		trail.Field{"id", trail.Int}, trail.Field{"path", trail.String})
//
//	request.Record(42, "/index.html")
package trail

/*
#cgo LDFLAGS: -ltrail
#include <stdlib.h>
#include <trail/event.h>

#define FIELDS_MAX 64

// Strings are in texts, one after the other; the number of each is its length. So no pointer is in
// what Go hands over.
static void record(struct trail_event *event, const unsigned char *kinds, unsigned int count,
		   const unsigned long long *numbers, const char *texts)
{
	struct trail_value values[FIELDS_MAX];
	struct trail_text text[FIELDS_MAX];

	for (unsigned int i = 0; i < count; i++) {
		if (kinds[i] != TRAIL_VALUE_TEXT) {
			values[i].u = numbers[i];
			continue;
		}
		text[i].begin = texts;
		text[i].length = numbers[i];
		values[i].t = &text[i];
		texts += numbers[i];
	}
	trail_event_record(event, values);
}
*/
import "C"

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Kind is the type of a field.
type Kind uint8

const (
	Int    Kind = C.TRAIL_VALUE_SIGNED   // an integer with a sign, of 64 bits
	Uint   Kind = C.TRAIL_VALUE_UNSIGNED // an integer without a sign, of 64 bits; a bool is 0 or 1
	Float  Kind = C.TRAIL_VALUE_DOUBLE   // a floating point number, of 64 bits
	String Kind = C.TRAIL_VALUE_TEXT     // a string, which ends at its first NUL
)

// Levels of events, from Emerg (0) to Debug (14).
const (
	Emerg = iota
	Alert
	Crit
	Err
	Warning
	Notice
	Info
	DebugSystem
	DebugProgram
	DebugProcess
	DebugModule
	DebugUnit
	DebugFunction
	DebugLine
	Debug
)

// A Field is the name and the type of a field.
type Field struct {
	Name string
	Kind Kind
}

// An Event may be recorded by several goroutines at once. A process has at most 128 of them.
type Event struct {
	event *C.struct_trail_event
	state *uint32
	kinds []Kind
}

// What one call needs: numbers, and the bytes of all strings.
type buffer struct {
	numbers [C.FIELDS_MAX]C.ulonglong
	texts   []byte
}

var buffers = sync.Pool{New: func() interface{} { return &buffer{texts: make([]byte, 1, 256)} }}

// NewEvent defines an event with up to 64 fields and registers it, which may wait for the daemon's
// answer; without a daemon it succeeds. Names have no blanks, quotes, commas and brackets; the
// provider and the event's name have no control characters and backslashes either, the provider no
// colon. The error is a syscall.Errno: EINVAL, ENOSPC (there are 128), ENOMEM.
func NewEvent(provider, name string, level int, fields ...Field) (*Event, error) {
	names := []string{provider, name}
	for _, field := range fields {
		names = append(names, field.Name)
	}
	for _, text := range names {
		if strings.IndexByte(text, 0) >= 0 {
			return nil, syscall.EINVAL
		}
	}
	if len(fields) > C.FIELDS_MAX || level < 0 {
		return nil, syscall.EINVAL
	}
	size := C.size_t(len(fields)+1) * C.sizeof_struct_trail_event_field
	table := (*[C.FIELDS_MAX]C.struct_trail_event_field)(C.calloc(1, size))
	if table == nil {
		return nil, syscall.ENOMEM
	}
	defer C.free(unsafe.Pointer(table))
	e := &Event{kinds: make([]Kind, len(fields))}
	for i, field := range fields {
		table[i].name = C.CString(field.Name)
		defer C.free(unsafe.Pointer(table[i].name))
		table[i]._type = uint32(field.Kind)
		e.kinds[i] = field.Kind
	}
	p, n := C.CString(provider), C.CString(name)
	defer C.free(unsafe.Pointer(p))
	defer C.free(unsafe.Pointer(n))
	if error := C.trail_event_create(&e.event, p, n, C.uint(level), &table[0],
		C.uint(len(fields))); error != 0 {
		return nil, syscall.Errno(-error)
	}
	e.state = (*uint32)(unsafe.Pointer(C.trail_event_state(e.event)))
	return e, nil
}

// MustEvent is NewEvent for variables of a package: it panics where that gives an error.
func MustEvent(provider, name string, level int, fields ...Field) *Event {
	e, err := NewEvent(provider, name, level, fields...)
	if err != nil {
		panic(fmt.Sprintf("trail: %s:%s: %v", provider, name, err))
	}
	return e
}

// Enabled says whether a session wants the event, which costs a load. It needs not be asked before
// Record, but saves the work for values that are expensive.
func (e *Event) Enabled() bool {
	return atomic.LoadUint32(e.state) != 0
}

// Record records the event if a session wants it. There is a value for each field: integers of any
// size and bool for Int and Uint, float32 and float64 for Float, string and []byte for String.
// Other values are an error, and record nothing; so are numbers that the field cannot hold: those
// above 1<<63 - 1 for Int, and those below 0 for Uint.
func (e *Event) Record(values ...interface{}) error {
	if !e.Enabled() {
		return nil
	}
	if len(values) != len(e.kinds) {
		return fmt.Errorf("trail: %d values for %d fields", len(values), len(e.kinds))
	}
	b := buffers.Get().(*buffer)
	defer buffers.Put(b)
	b.texts = b.texts[:0]
	for i, value := range values {
		if !b.put(i, e.kinds[i], value) {
			return fmt.Errorf("trail: value %d, %v of type %T, does not fit its field",
				i+1, value, value)
		}
	}
	b.texts = append(b.texts, 0)
	kinds := (*C.uchar)(nil)
	if len(e.kinds) > 0 {
		kinds = (*C.uchar)(unsafe.Pointer(&e.kinds[0]))
	}
	C.record(e.event, kinds, C.uint(len(values)), &b.numbers[0],
		(*C.char)(unsafe.Pointer(&b.texts[0])))
	return nil
}

func (b *buffer) put(i int, kind Kind, value interface{}) bool {
	switch v := value.(type) {
	case int:
		return b.signed(i, kind, int64(v))
	case int8:
		return b.signed(i, kind, int64(v))
	case int16:
		return b.signed(i, kind, int64(v))
	case int32:
		return b.signed(i, kind, int64(v))
	case int64:
		return b.signed(i, kind, v)
	case uint:
		return b.unsigned(i, kind, uint64(v))
	case uint8:
		return b.unsigned(i, kind, uint64(v))
	case uint16:
		return b.unsigned(i, kind, uint64(v))
	case uint32:
		return b.unsigned(i, kind, uint64(v))
	case uint64:
		return b.unsigned(i, kind, v)
	case uintptr:
		return b.unsigned(i, kind, uint64(v))
	case bool:
		if v {
			return b.unsigned(i, kind, 1)
		}
		return b.unsigned(i, kind, 0)
	case float32:
		b.numbers[i] = C.ulonglong(math.Float64bits(float64(v)))
		return kind == Float
	case float64:
		b.numbers[i] = C.ulonglong(math.Float64bits(v))
		return kind == Float
	case string:
		b.texts = append(b.texts, v...)
		b.numbers[i] = C.ulonglong(len(v))
		return kind == String
	case []byte:
		b.texts = append(b.texts, v...)
		b.numbers[i] = C.ulonglong(len(v))
		return kind == String
	}
	return false
}

func (b *buffer) signed(i int, kind Kind, v int64) bool {
	b.numbers[i] = C.ulonglong(v)
	return kind == Int || (kind == Uint && v >= 0)
}

func (b *buffer) unsigned(i int, kind Kind, v uint64) bool {
	b.numbers[i] = C.ulonglong(v)
	return kind == Uint || (kind == Int && v <= math.MaxInt64)
}

// Close ends the event: no goroutine may use it then or later.
func (e *Event) Close() {
	C.trail_event_destroy(e.event)
	e.event = nil
}
