// SPDX-License-Identifier: MIT
//! Tracepoints of trailfs: the C interface of `<trail/event.h>` for Rust, see trail-python(3). A
//! program is linked with `libtrail.so`.
//!
//! ```
//! trail::trail!("my_app", "request", id = 42, path = "/index.html");
//! trail::trail!("my_app", "failed", level 3, ms = 1.5);
//! ```

use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::Once;

/// Defines an event where it stands, and records it if a session wants it; only then are the
/// values evaluated. The first hit registers the event, and may wait for the daemon's answer.
/// Provider and name are literals; the level is a number from 0 (emerg) to 14 (debug), 13 if there
/// is none. An event has up to 12 fields. A string ends at its first NUL.
#[macro_export]
macro_rules! trail {
    ($provider:literal, $name:literal, level $level:expr
        $(, $field:ident = $value:expr)* $(,)?) => {{
        static SITE: $crate::Site = $crate::Site::new(
            concat!($provider, "\0"),
            concat!($name, "\0"),
            $level,
            &[$(concat!(stringify!($field), "\0")),*],
        );
        SITE.hit(|| ($($crate::Value::hold(&$value),)*))
    }};
    ($provider:literal, $name:literal $(, $field:ident = $value:expr)* $(,)?) => {
        $crate::trail!($provider, $name, level 13 $(, $field = $value)*)
    };
}

#[repr(C)]
struct RawEventField {
    name: *const c_char,
    kind: c_uint,
}

#[doc(hidden)]
#[repr(C)]
pub union RawNumber {
    i: i64,
    u: u64,
    d: f64,
    s: *const c_char,
}

#[doc(hidden)]
#[repr(C)]
pub struct RawValue {
    kind: c_uint,
    value: RawNumber,
}

#[link(name = "trail")]
extern "C" {
    fn trail_event_create(
        event: *mut *mut c_void,
        provider: *const c_char,
        name: *const c_char,
        level: c_uint,
        fields: *const RawEventField,
        count: c_uint,
    ) -> c_int;
    fn trail_event_state(event: *const c_void) -> *mut AtomicU32;
    fn trail_event_record(event: *mut c_void, values: *const RawValue);
}

/// What a field can be: an integer, a floating point number, a `bool` (0 or 1), a string.
pub trait Value {
    #[doc(hidden)]
    type Held: Held;
    #[doc(hidden)]
    fn hold(&self) -> Self::Held;
}

/// A value on its way to the library.
#[doc(hidden)]
pub trait Held {
    const KIND: c_uint;
    fn raw(&self) -> RawNumber;
}

macro_rules! numbers {
    ($held:ident, $kind:literal, $member:ident: $($t:ident)*) => {
        impl Held for $held {
            const KIND: c_uint = $kind;
            fn raw(&self) -> RawNumber {
                RawNumber { $member: *self }
            }
        }
        $(impl Value for $t {
            type Held = $held;
            fn hold(&self) -> $held {
                *self as $held
            }
        })*
    };
}

numbers!(i64, 1, i: i8 i16 i32 i64 isize);
numbers!(u64, 2, u: u8 u16 u32 u64 usize bool);
numbers!(f64, 3, d: f32 f64);

impl Held for CString {
    const KIND: c_uint = 4;
    fn raw(&self) -> RawNumber {
        RawNumber { s: self.as_ptr() }
    }
}

impl Value for str {
    type Held = CString;
    fn hold(&self) -> CString {
        let end = self.find('\0').unwrap_or_else(|| self.len());
        CString::new(&self[..end]).unwrap_or_default()
    }
}

impl Value for String {
    type Held = CString;
    fn hold(&self) -> CString {
        self.as_str().hold()
    }
}

impl<T: Value + ?Sized> Value for &T {
    type Held = T::Held;
    fn hold(&self) -> T::Held {
        (**self).hold()
    }
}

/// The values of an event: a tuple.
#[doc(hidden)]
pub trait Values {
    const KINDS: &'static [c_uint];
    fn with(&self, record: impl FnOnce(&[RawValue]));
}

macro_rules! tuples {
    ($($name:ident $at:tt),*) => {
        impl<$($name: Held),*> Values for ($($name,)*) {
            const KINDS: &'static [c_uint] = &[$($name::KIND),*];
            fn with(&self, record: impl FnOnce(&[RawValue])) {
                record(&[$(RawValue { kind: $name::KIND, value: self.$at.raw() }),*])
            }
        }
    };
}

/// A place in the program that records an event.
#[doc(hidden)]
pub struct Site {
    provider: &'static str,
    name: &'static str,
    level: c_uint,
    fields: &'static [&'static str],
    define: Once,
    event: AtomicPtr<c_void>,
    state: AtomicPtr<AtomicU32>,
}

/// The state of an event that the library refuses.
static OFF: AtomicU32 = AtomicU32::new(0);

impl Site {
    pub const fn new(
        provider: &'static str,
        name: &'static str,
        level: c_uint,
        fields: &'static [&'static str],
    ) -> Site {
        Site {
            provider,
            name,
            level,
            fields,
            define: Once::new(),
            event: AtomicPtr::new(ptr::null_mut()),
            state: AtomicPtr::new(ptr::null_mut()),
        }
    }

    #[inline]
    pub fn hit<T: Values, F: FnOnce() -> T>(&self, values: F) {
        let mut state = self.state.load(Ordering::Acquire);
        if state.is_null() {
            self.define.call_once(|| self.define(T::KINDS));
            state = self.state.load(Ordering::Acquire);
        }
        // The event is never destroyed, so the word stays.
        if unsafe { &*state }.load(Ordering::Relaxed) != 0 {
            let event = self.event.load(Ordering::Relaxed);
            values().with(|v| unsafe { trail_event_record(event, v.as_ptr()) });
        }
    }

    #[cold]
    fn define(&self, kinds: &[c_uint]) {
        let fields: Vec<RawEventField> = self
            .fields
            .iter()
            .zip(kinds)
            .map(|(name, &kind)| RawEventField { name: name.as_ptr() as *const c_char, kind })
            .collect();
        let mut event = ptr::null_mut();
        let ret = unsafe {
            trail_event_create(
                &mut event,
                self.provider.as_ptr() as *const c_char,
                self.name.as_ptr() as *const c_char,
                self.level,
                fields.as_ptr(),
                fields.len() as c_uint,
            )
        };
        let state = match ret {
            0 => unsafe { trail_event_state(event) },
            _ => &OFF as *const AtomicU32 as *mut AtomicU32,
        };
        self.event.store(event, Ordering::Relaxed);
        self.state.store(state, Ordering::Release);
    }
}

tuples!();
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
