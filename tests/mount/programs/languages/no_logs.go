// SPDX-License-Identifier: GPL-2.0-or-later

//go:build !go1.21

package main

func logs() {}
