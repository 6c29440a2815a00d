// SPDX-License-Identifier: GPL-2.0-or-later

//go:build go1.21

// What is difficult for the handler of log/slog.
package main

import (
	"example/part.v2"
	"fmt"
	"log/slog"
	"trail"
)

type panics struct{}

func (panics) String() string { panic("no") }

func main() {
	l := slog.New(trail.NewHandler())
	l.Info("no key", "", 5, "k", 1)
	l.Info("nothing", slog.Attr{}, "k", 1)
	l.With("", 7).WithGroup("g").Info("group", "", 8)
	l.Info("nul\x00", "text", "a\x00b")
	l.Info("letters", "ключ", 1, "слог", 2)
	part.Log(l)
	for n := 0; n < 150; n++ {
		l.Error("many", fmt.Sprintf("key%d", n), n)
		l.Debug("many", fmt.Sprintf("key%d", n), n)
	}
	wide, same := []any{}, []any{}
	for n := 0; n < 64; n++ {
		wide = append(wide, fmt.Sprintf("w%d", n), n)
	}
	l.Warn("wide", wide...)
	// It takes no time that grows with a power of their number.
	for n := 0; n < 20000; n++ {
		same = append(same, "same", n)
	}
	l.Warn("same", same...)
	l.Warn("panics", "value", panics{})
}
