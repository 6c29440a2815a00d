// SPDX-License-Identifier: GPL-2.0-or-later

//go:build go1.21

package main

import (
	"fmt"
	"log/slog"
	"os"
	"trail"
)

func logs() {
	logger := slog.New(trail.NewHandler())
	logger.Warn("slow", "ms", 12.5, "ok", false, "who", []int{1})
	logger.With("id", 7).WithGroup("g").Info("in", "n", -1, slog.Group("h", "x", "y"))
	fmt.Fprintln(os.Stdout, "slog")
}
