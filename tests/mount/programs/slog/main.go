// SPDX-License-Identifier: GPL-2.0-or-later

// Values of each kind by log/slog, groups, a value that computes itself, more layouts than have
// events of their own, and eight goroutines at once.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
	"trail"
)

type secret struct{}

func (secret) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("a", 1), slog.String("b", "two"))
}

func main() {
	l := slog.New(trail.NewHandler())
	l.Info("kinds", "i", int8(-7), "u", uint64(1)<<63, "f", 0.25, "b", true, "s", "é",
		"d", 1500*time.Millisecond, "e", errors.New("no"), "n", nil)
	l.Error("again", "x", 1, "x", 2, "message", "m", "a b", 3)
	l.Warn("value", "v", secret{}, slog.Group("", slog.Int("inline", 5)), slog.Group("none"))
	l.WithGroup("g").With("w", 1).WithGroup("").WithGroup("h").Debug("deep", "x", 2)
	l.With("only", "with").Info("")
	slog.SetDefault(l)
	slog.Log(nil, slog.Level(2), "between", "k", 1)
	var wait sync.WaitGroup
	for g := 0; g < 8; g++ {
		wait.Add(1)
		go func(own *slog.Logger) {
			for n := 0; n < 500; n++ {
				own.Info("loop", "n", n)
			}
			wait.Done()
		}(l.With("g", g))
	}
	wait.Wait()
	for n := 0; n < 200; n++ {
		l.Info("many", fmt.Sprintf("key%d", n), n)
	}
	fmt.Println("done")
}
