// SPDX-License-Identifier: GPL-2.0-or-later

// Lines by the package trail and by log; see languages.sh.
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"
	"syscall"
	"trail"
)

// CPU time of the process, ns.
func cpu() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func measure(name string, lines int, line func(n int)) {
	for n := 0; n < 1000; n++ {
		line(n)
	}
	begin := cpu()
	for n := 0; n < lines; n++ {
		line(n)
	}
	fmt.Println(name, (cpu()-begin)/int64(lines))
}

func main() {
	lines, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	path := "/index.html"
	request := trail.MustEvent("lines", "request_go", trail.Info,
		trail.Field{Name: "n", Kind: trail.Int}, trail.Field{Name: "path", Kind: trail.String})
	measure("trail", lines, func(n int) { request.Record(n, path) })
	null, err := os.Create("/dev/null")
	if err != nil {
		panic(err)
	}
	logger := log.New(null, "", log.LstdFlags)
	measure("log", lines, func(n int) { logger.Printf("request n=%d path=%s", n, path) })
}
