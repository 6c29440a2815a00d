// SPDX-License-Identifier: GPL-2.0-or-later
//! Events of each type, from two threads; a value that is evaluated although it is not wanted ends
//! the program with a failure.
use trail::trail;

fn forbidden() -> i32 {
    std::process::exit(3)
}

fn main() {
    trail!("rusty", "none");
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
}
