// SPDX-License-Identifier: MIT

// Events of a Go program, by the package trail (see trail-python(3)):
//
//	go mod init example && go mod edit -require=trail@v0.0.0 \
//		-replace=trail@v0.0.0=/usr/local/share/trailfs/go && go run .
package main

import "trail"

var request = trail.MustEvent("my_app", "request", trail.Info,
	trail.Field{Name: "id", Kind: trail.Int},
	trail.Field{Name: "path", Kind: trail.String},
	trail.Field{Name: "ms", Kind: trail.Float})

func main() {
	request.Record(42, "/index.html", 1.5)
	done := make(chan bool)
	go func() {
		request.Record(-1, "/goroutine", 0.0)
		done <- true
	}()
	<-done
}
