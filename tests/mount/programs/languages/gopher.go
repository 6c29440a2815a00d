// SPDX-License-Identifier: GPL-2.0-or-later

// Values of each type, from two goroutines, and what is refused.
package main

import (
	"log"
	"math"
	"sync"
	"syscall"
	"trail"
)

func check(good bool, what string) {
	if !good {
		log.Fatal(what)
	}
}

func main() {
	all := trail.MustEvent("gopher", "all", trail.Warning, trail.Field{"i", trail.Int},
		trail.Field{"u", trail.Uint}, trail.Field{"b", trail.Uint}, trail.Field{"f", trail.Float},
		trail.Field{"s", trail.String}, trail.Field{"t", trail.String})
	check(all.Enabled(), "it is off")
	check(all.Record(int8(-1), uint64(math.MaxUint64), true, float32(0.5), "/über",
		[]byte("cut\x00off")) == nil, "refused")
	check(all.Record(1, 2, 3, 4.0, "", nil) != nil, "a value of no type")
	check(all.Record(uint64(1)<<63, 2, 3, 4.0, "", "") != nil, "a number above a field's")
	check(all.Record(1, -2, 3, 4.0, "", "") != nil, "a number below a field's")
	check(all.Record(1) != nil, "a value alone")
	check(all.Record("1", 2, 3, 4.0, "", "") != nil, "a string for a number")
	none := trail.MustEvent("gopher", "none", trail.Debug)
	check(none.Record() == nil, "no field")
	none.Close()
	off := trail.MustEvent("gopher_off", "never", trail.Debug, trail.Field{"i", trail.Int})
	check(!off.Enabled() && off.Record("not looked at") == nil, "it is on")
	_, err := trail.NewEvent("gopher", "no name", trail.Debug)
	check(err == syscall.EINVAL, "a blank in a name")
	_, err = trail.NewEvent("gopher", "cut\x00off", trail.Debug)
	check(err == syscall.EINVAL, "a NUL in a name")
	loop := trail.MustEvent("gopher", "loop", trail.Debug, trail.Field{"n", trail.Int},
		trail.Field{"s", trail.String})
	var wait sync.WaitGroup
	for g := 0; g < 2; g++ {
		wait.Add(1)
		go func(text string) {
			for n := 0; n < 1000; n++ {
				check(loop.Record(n, text) == nil, "refused")
			}
			wait.Done()
		}([]string{"a", "bcd"}[g])
	}
	wait.Wait()
	logs()
}
