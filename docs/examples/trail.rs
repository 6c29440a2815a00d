// SPDX-License-Identifier: MIT

//! Events of a Rust program, by the crate trail (see trail-python(3)):
//!
//!	cargo new app && cd app && cargo add --path /usr/local/share/trailfs/rust &&
//!	cp .../trail.rs src/main.rs && cargo run
use std::thread;

fn main() {
    trail::trail!("my_app", "request", id = 42, path = "/index.html", ms = 1.5);
    thread::spawn(|| trail::trail!("my_app", "request", level 6, id = -1, path = "/thread", ms = 0.0))
        .join()
        .unwrap();
}
