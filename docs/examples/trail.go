// SPDX-License-Identifier: MIT

// Events of a Go program, by cgo and the C interface of <trail/event.h>: see trail-python(3).
//
//	CGO_LDFLAGS=-ltrail go run trail.go
package main

/*
#cgo LDFLAGS: -ltrail
#include <stdlib.h>
#include <trail/event.h>

// cgo has no unions.
static void set_signed(struct trail_value *v, long long i) { v->i = i; }
static void set_double(struct trail_value *v, double d) { v->d = d; }
static void set_string(struct trail_value *v, const char *s) { v->s = s; }
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// A Request is the event my_app:request, which is defined once.
type Request struct {
	event *C.struct_trail_event
	state *uint32
}

func NewRequest() (*Request, error) {
	fields := (*[3]C.struct_trail_event_field)(C.calloc(3, C.sizeof_struct_trail_event_field))
	defer C.free(unsafe.Pointer(fields))
	for i, name := range []string{"id", "path", "ms"} {
		fields[i].name = C.CString(name)
		defer C.free(unsafe.Pointer(fields[i].name))
	}
	fields[0]._type = C.TRAIL_VALUE_SIGNED
	fields[1]._type = C.TRAIL_VALUE_STRING
	fields[2]._type = C.TRAIL_VALUE_DOUBLE
	provider, name := C.CString("my_app"), C.CString("request")
	defer C.free(unsafe.Pointer(provider))
	defer C.free(unsafe.Pointer(name))
	r := new(Request)
	if ret := C.trail_event_create(&r.event, provider, name, 6, &fields[0], 3); ret != 0 {
		return nil, fmt.Errorf("trail_event_create: %d", ret)
	}
	r.state = (*uint32)(unsafe.Pointer(C.trail_event_state(r.event)))
	return r, nil
}

// Record costs a load while no session wants the event.
func (r *Request) Record(id int64, path string, ms float64) {
	if atomic.LoadUint32(r.state) == 0 {
		return
	}
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	values := (*[3]C.struct_trail_value)(C.malloc(3 * C.sizeof_struct_trail_value))
	defer C.free(unsafe.Pointer(values))
	C.set_signed(&values[0], C.longlong(id))
	C.set_string(&values[1], text)
	C.set_double(&values[2], C.double(ms))
	C.trail_event_record(r.event, &values[0])
}

func main() {
	request, err := NewRequest()
	if err != nil {
		panic(err)
	}
	request.Record(42, "/index.html", 1.5)
	done := make(chan bool)
	go func() {
		request.Record(-1, "/goroutine", 0)
		done <- true
	}()
	<-done
}
