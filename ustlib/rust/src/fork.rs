// SPDX-License-Identifier: MIT
//! A child of fork() has one thread: what another thread of the parent has locked stays so in the
//! child. So fork() waits until the locks of this crate are free. As fork() may hold the library's
//! lock at that time, no function of the library is called under them.

use std::cell::UnsafeCell;
use std::os::raw::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Held while an event is added to those of a place.
static MAKING: Mutex<()> = Mutex::new(());

/// What the thread that calls fork() holds meanwhile.
struct Held {
    _making: MutexGuard<'static, ()>,
    #[cfg(feature = "tracing")]
    _table: crate::layer::Held,
}

struct Slot(UnsafeCell<Option<Held>>);

// Only a thread that has locked MAKING uses it.
unsafe impl Sync for Slot {}

static HELD: Slot = Slot(UnsafeCell::new(None));
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

extern "C" {
    fn pthread_atfork(
        prepare: extern "C" fn(),
        parent: extern "C" fn(),
        child: extern "C" fn(),
    ) -> c_int;
}

extern "C" fn before() {
    let held = Held {
        _making: lock(),
        #[cfg(feature = "tracing")]
        _table: crate::layer::hold(),
    };
    unsafe { *HELD.0.get() = Some(held) };
}

/// The slot is empty before the locks are free, as another thread may fork then.
extern "C" fn after() {
    drop(unsafe { (*HELD.0.get()).take() });
}

fn lock() -> MutexGuard<'static, ()> {
    MAKING.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Before a lock is taken for the first time. Without memory for it, a child may wait for ever.
pub(crate) fn watch() {
    if !IS_WATCHED.swap(true, Ordering::Relaxed) {
        unsafe { pthread_atfork(before, after, after) };
    }
}

/// Nothing else adds an event to a place until the result is dropped.
pub(crate) fn lock_making() -> MutexGuard<'static, ()> {
    watch();
    lock()
}
