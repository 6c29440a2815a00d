// SPDX-License-Identifier: GPL-2.0-or-later
//! What trail::Layer records of the crate `tracing`.
use tracing::{debug, error, info, info_span, trace, warn};
use tracing_subscriber::prelude::*;

extern "C" {
    fn fork() -> i32;
    fn alarm(seconds: u32) -> u32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

fn wait(pid: i32) -> i32 {
    let mut status = -1;
    unsafe { waitpid(pid, &mut status, 0) };
    status
}

/// Values of types that nothing has logged before
fn shapes<A: tracing::Value + Copy>(a: A) {
    macro_rules! log {
        ($($b:expr),*) => { $(info!(target: "forks", a, b = $b);)* };
    }
    log!(1, 1u8, 1.5, "x");
}

/// A child of a process whose other thread makes events logs, and does not wait for that thread.
fn forks() {
    for _ in 0..30 {
        let parent = unsafe { fork() };
        if parent == 0 {
            let other = std::thread::spawn(|| {
                shapes(1);
                shapes(1u8);
                shapes(1.5);
                shapes("x");
            });
            let mut failed = 0;
            for _ in 0..4 {
                let child = unsafe { fork() };
                if child == 0 {
                    unsafe { alarm(30) };
                    shapes(true);
                    unsafe { _exit(0) };
                }
                failed |= (wait(child) != 0) as i32;
            }
            other.join().unwrap();
            unsafe { _exit(failed) };
        }
        assert_eq!(wait(parent), 0);
    }
}

fn main() {
    tracing_subscriber::registry().with(trail::Layer::new()).init();
    for i in 0..2 {
        info!(id = i, ratio = 0.5, ok = true, path = "/index.html", "request {}", i);
    }
    warn!(target: "other::part", why = ?Some(1), "slow");
    error!("failed");
    debug!(unsigned = u64::MAX, "detail");
    trace!("most");
    let span = info_span!("load", n = 3u8, late = tracing::field::Empty);
    span.in_scope(|| info!("inside"));
    span.record("late", &"now");
    span.in_scope(|| ());
    forks();
}
