// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines by trail!, trail::Layer and the usual subscriber of `tracing`; see languages.sh.
use std::fs::File;
use std::sync::Mutex;
use tracing_subscriber::prelude::*;

/// CPU time of the process, ns.
fn cpu() -> u64 {
    #[repr(C)]
    struct Time(i64, i64);
    extern "C" {
        fn clock_gettime(clock: i32, time: *mut Time) -> i32;
    }
    let mut time = Time(0, 0);
    unsafe { clock_gettime(2, &mut time) };
    time.0 as u64 * 1_000_000_000 + time.1 as u64
}

fn measure(name: &str, lines: u64, mut line: impl FnMut(u64)) {
    (0..1000).for_each(&mut line);
    let begin = cpu();
    (0..lines).for_each(&mut line);
    println!("{} {}", name, (cpu() - begin) / lines);
}

fn main() {
    let lines: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(200_000);
    let path = "/index.html";
    measure("trail", lines, |n| trail::trail!("lines", "request", n = n, path = path));
    let log = |n| tracing::info!(n, path, "request");
    tracing::subscriber::with_default(
        tracing_subscriber::registry().with(trail::Layer::new()),
        || measure("layer", lines, log),
    );
    let null = Mutex::new(File::create("/dev/null").unwrap());
    tracing::subscriber::with_default(
        tracing_subscriber::registry()
            .with(tracing_subscriber::fmt::layer().with_writer(null)),
        || measure("fmt", lines, log),
    );
}
