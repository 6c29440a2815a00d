// SPDX-License-Identifier: GPL-2.0-or-later

//go:build go1.21

package part

import "log/slog"

func Log(l *slog.Logger) { l.Info("part") }
