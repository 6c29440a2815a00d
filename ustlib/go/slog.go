// SPDX-License-Identifier: MIT

//go:build go1.21

package trail

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"strings"
	"sync"
)

const (
	layoutsMax = 96
	fieldsMax  = 64 // of one event
)

// NewHandler returns a handler for log/slog that records each log record as the event go:PACKAGE of
// the package that logs, in which "." replaces "/". Its fields are message and the attributes, in
// groups as GROUP_NAME and with "_" for what an identifier has not, with types as for Record; what
// is none of these is a string, as fmt.Sprint has it. Levels are err, warning, info and debug.
// After 96 combinations of package, level, and names and types of attributes, further ones are
// go:slog of the same level, with all attributes in one string, as are more than 63 attributes.
//
//	slog.SetDefault(slog.New(trail.NewHandler()))
func NewHandler() slog.Handler {
	layoutsMutex.Lock()
	defer layoutsMutex.Unlock()
	// Now, as later the program may have used all events itself.
	for _, level := range []int{Err, Warning, Info, Debug} {
		if shared[level] == nil {
			shared[level], _ = NewEvent("go", "slog", level, Field{"package", String},
				Field{"message", String}, Field{"attributes", String})
		}
	}
	return &handler{}
}

type handler struct {
	prefix string
	attrs  []slog.Attr // of WithAttrs; their names have their groups
}

type layout struct {
	name  string
	level int
	shape string
}

var (
	layouts      = map[layout]*Event{}
	shared       = map[int]*Event{} // by level: for what has no event of its own
	layoutsMutex sync.RWMutex       // guards layouts and shared
)

func (h *handler) Enabled(context.Context, slog.Level) bool { return true }

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{h.prefix + name + ".", h.attrs}
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	all := append([]slog.Attr{}, h.attrs...)
	for _, a := range attrs {
		all = flatten(all, h.prefix, a)
	}
	return &handler{h.prefix, all}
}

// flatten appends an attribute, or those of a group.
func flatten(to []slog.Attr, prefix string, a slog.Attr) []slog.Attr {
	value := a.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if a.Equal(slog.Attr{}) {
			return to
		}
		return append(to, slog.Attr{Key: prefix + a.Key, Value: value})
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, member := range value.Group() {
		to = flatten(to, prefix, member)
	}
	return to
}

func levelOf(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return Err
	case level >= slog.LevelWarn:
		return Warning
	case level >= slog.LevelInfo:
		return Info
	}
	return Debug
}

// spell replaces what is neither a letter of ASCII, a digit nor among others by "_".
func spell(text, others string) string {
	good := func(c rune) rune {
		if c < 128 && (strings.ContainsRune(others, c) || c >= '0' && c <= '9' ||
			c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return c
		}
		return '_'
	}
	text = strings.Map(good, text)
	if len(text) > 200 {
		text = text[:200]
	}
	if text == "" {
		text = "_"
	}
	return text
}

// packageOf is that of the function at pc: "example.com/shop" of "example.com/shop.(*T).f".
func packageOf(pc uintptr) string {
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	name := frame.Function
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		name = name[:slash+dot]
	}
	if name == "" {
		name = "slog"
	}
	// The linker writes a dot of a path's last element, and some other bytes, as %2e.
	if path, err := url.PathUnescape(name); err == nil {
		name = path
	}
	return spell(strings.ReplaceAll(name, "/", "."), ".:@+-")
}

func valueOf(v slog.Value) (Kind, interface{}) {
	switch v.Kind() {
	case slog.KindInt64:
		return Int, v.Int64()
	case slog.KindUint64:
		return Uint, v.Uint64()
	case slog.KindBool:
		return Uint, v.Bool()
	case slog.KindFloat64:
		return Float, v.Float64()
	}
	return String, shown(v.String())
}

// shown has no NUL, where a field's string would end.
func shown(text string) string {
	return strings.ReplaceAll(text, "\x00", "\\x00")
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	attrs := append(make([]slog.Attr, 0, 16), h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		attrs = flatten(attrs, h.prefix, a)
		return true
	})
	fields := []Field{{"message", String}}
	values := []interface{}{shown(r.Message)}
	seen := map[string]bool{"message": true}
	shape := ""
	for _, a := range attrs {
		if len(fields) > fieldsMax {
			break
		}
		kind, value := valueOf(a.Value)
		name := spell(a.Key, "")
		for seen[name] {
			name += "_"
		}
		seen[name] = true
		fields, values = append(fields, Field{name, kind}), append(values, value)
		shape += name + string(rune('0'+kind)) + ","
	}
	e, isShared := eventOf(layout{packageOf(r.PC), levelOf(r.Level), shape}, fields)
	if e == nil || !e.Enabled() {
		return nil
	}
	if !isShared {
		return e.Record(values...)
	}
	texts := make([]string, 0, len(attrs))
	for _, a := range attrs {
		texts = append(texts, fmt.Sprintf("%s=%v", a.Key, a.Value))
	}
	return e.Record(packageOf(r.PC), values[0], shown(strings.Join(texts, " ")))
}

// eventOf finds or makes the event; isShared: it is for what has none of its own. nil: there was no
// room for that.
func eventOf(l layout, fields []Field) (e *Event, isShared bool) {
	layoutsMutex.RLock()
	e, common, room := layouts[l], shared[l.level], len(layouts) < layoutsMax
	layoutsMutex.RUnlock()
	if e != nil {
		return e, false
	}
	if !room || len(fields) > fieldsMax {
		return common, true
	}
	layoutsMutex.Lock()
	defer layoutsMutex.Unlock()
	if e = layouts[l]; e != nil {
		return e, false
	}
	if len(layouts) < layoutsMax {
		if made, err := NewEvent("go", l.name, l.level, fields...); err == nil {
			layouts[l] = made
			return made, false
		}
	}
	return common, true
}
