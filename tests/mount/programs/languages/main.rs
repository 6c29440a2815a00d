// SPDX-License-Identifier: GPL-2.0-or-later
//! Events of each type, from two threads; a value that is evaluated although it is not wanted ends
//! the program with a failure, and so does a hit after the first one that allocates memory. A place
//! in a generic function is hit with values of several types.
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use trail::{trail, Event, Field, Kind};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        System.alloc(layout)
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        System.dealloc(p, layout)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn forbidden() -> i32 {
    std::process::exit(3)
}

fn generic<T: trail::Value>(value: T) {
    trail!("rusty", "generic", value = value);
}

fn main() {
    trail!("rusty", "none");
    trail!("rusty", "empty", a = "", b = String::new(), c = 1);
    generic("text");
    for _ in 0..2 {
        generic(1.5);
        generic(u8::MAX);
    }
    let path = String::from("/über");
    trail!("rusty", "all", a = -1i8, b = u64::MAX, c = 0.5f32, d = true, e = path, f = "cut\0off");
    std::thread::spawn(|| {
        for n in 0..3usize {
            trail!("rusty", "loop", level 4, n = n);
        }
    })
    .join()
    .unwrap();
    trail!("rusty_off", "never", v = forbidden());
    trail!("rusty", "not a name", v = forbidden());
    trail!("rusty", "many", a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10,
        k = 11, l = "x");
    let long = "long".repeat(1000);
    let mut before = 0;
    for n in 0..3 {
        if n == 1 {
            before = ALLOCATIONS.load(Ordering::Relaxed);
        }
        trail!("rusty", "again", n = n, text = "x", length = long.len(), long = &long);
    }
    assert_eq!(before, ALLOCATIONS.load(Ordering::Relaxed), "a hit allocated memory");
    let fields = [("i", Kind::Signed), ("u", Kind::Unsigned), ("f", Kind::Float), ("s", Kind::Text)];
    let event = Event::new("rusty", "built", 6, &fields).unwrap();
    let values = [Field::Signed(-5), Field::Unsigned(7), Field::Float(0.25), Field::Text("é\0x")];
    event.record(&values).unwrap();
    assert_eq!(event.record(&values[1..]), Err(22));
    for name in ["no name", "cut\u{1}off", "back\\slash"] {
        assert!(Event::new("rusty", name, 6, &[]).is_err());
    }
    assert!(Event::new("rust:y", "name", 6, &[]).is_err());
}
