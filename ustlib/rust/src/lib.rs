// SPDX-License-Identifier: MIT
//! Tracepoints of trailfs: the C interface of `<trail/event.h>` for Rust, see trail-python(3). A
//! program is linked with `libtrail.so`.
//!
//! ```
//! trail::trail!("my_app", "request", id = 42, path = "/index.html");
//! trail::trail!("my_app", "failed", level 3, ms = 1.5);
//! ```
//!
//! With the feature `tracing`, [`Layer`] records what the macros of the crate `tracing` log.

use std::marker::PhantomData;
use std::os::raw::{c_char, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

mod event;
mod fork;
#[cfg(feature = "tracing")]
mod layer;

use event::{Raw, RawField};
pub use event::{Event, Field, Kind};
#[cfg(feature = "tracing")]
pub use layer::Layer;

/// Defines an event where it stands, and records it if a session wants it; only then are the
/// values evaluated. The first hit registers the event, and may wait for the daemon's answer; no
/// later one allocates memory. Provider and name are literals; the level is a number from 0
/// (emerg) to 14 (debug), 13 if there is none. An event has up to 12 fields. A string ends at its
/// first NUL.
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
        SITE.hit(|hit| hit.put(($(&$value,)*)))
    }};
    ($provider:literal, $name:literal $(, $field:ident = $value:expr)* $(,)?) => {
        $crate::trail!($provider, $name, level 13 $(, $field = $value)*)
    };
}

/// The type of a field at compile time.
#[doc(hidden)]
pub trait KindOf {
    const KIND: Kind;
}

#[doc(hidden)]
pub struct Signed;
#[doc(hidden)]
pub struct Unsigned;
#[doc(hidden)]
pub struct Float;
#[doc(hidden)]
pub struct Text;

/// What a field can be: an integer, a floating point number, a `bool` (0 or 1), a string.
pub trait Value {
    #[doc(hidden)]
    type Kind: KindOf;
    #[doc(hidden)]
    fn field(&self) -> Field<'_>;
}

macro_rules! numbers {
    ($kind:ident $held:ident: $($t:ident)*) => {
        impl KindOf for $kind {
            const KIND: Kind = Kind::$kind;
        }
        $(impl Value for $t {
            type Kind = $kind;
            fn field(&self) -> Field<'_> {
                Field::$kind(*self as $held)
            }
        })*
    };
}

numbers!(Signed i64: i8 i16 i32 i64 isize);
numbers!(Unsigned u64: u8 u16 u32 u64 usize bool);
numbers!(Float f64: f32 f64);

impl KindOf for Text {
    const KIND: Kind = Kind::Text;
}

impl Value for str {
    type Kind = Text;
    fn field(&self) -> Field<'_> {
        Field::Text(self)
    }
}

impl Value for String {
    type Kind = Text;
    fn field(&self) -> Field<'_> {
        Field::Text(self)
    }
}

impl<T: Value + ?Sized> Value for &T {
    type Kind = T::Kind;
    fn field(&self) -> Field<'_> {
        (**self).field()
    }
}

/// The types of an event's fields: a tuple. ID is a number that no other types have.
#[doc(hidden)]
pub trait Kinds {
    const KINDS: &'static [Kind];
    const ID: u64;
}

/// Each type is four bits of the number.
const fn id_of(kinds: &[Kind]) -> u64 {
    let (mut id, mut i) = (1, 0);
    while i < kinds.len() {
        id = id << 4 | kinds[i] as u64;
        i += 1;
    }
    id
}

/// The values of an event: a tuple of references.
#[doc(hidden)]
pub trait Values {
    type Kinds: Kinds;
    fn record(&self, hit: &Hit);
}

macro_rules! tuples {
    ($($name:ident $at:tt),*) => {
        impl<$($name: KindOf),*> Kinds for ($($name,)*) {
            const KINDS: &'static [Kind] = &[$($name::KIND),*];
            const ID: u64 = id_of(Self::KINDS);
        }
        impl<$($name: Value + ?Sized),*> Values for ($(&$name,)*) {
            type Kinds = ($($name::Kind,)*);
            fn record(&self, hit: &Hit) {
                // The event was defined with these types.
                unsafe { hit.0.record(&[$(self.$at.field()),*]) }
            }
        }
    };
}

/// An event that is about to be recorded.
#[doc(hidden)]
pub struct Hit(Raw);

/// It was: the type says what it consists of.
#[doc(hidden)]
pub struct Done<K>(PhantomData<K>);

impl Hit {
    #[inline]
    pub fn put<T: Values>(self, values: T) -> Done<T::Kinds> {
        values.record(&self);
        Done(PhantomData)
    }
}

/// An event of a place in the program: for one combination of types, `id`.
struct Known {
    id: AtomicU64,
    event: AtomicPtr<c_void>,
    state: AtomicPtr<AtomicU32>,
    next: AtomicPtr<Known>,
}

/// The state of an event that the library refuses.
static OFF: AtomicU32 = AtomicU32::new(0);

impl Known {
    const fn new() -> Known {
        Known {
            id: AtomicU64::new(0),
            event: AtomicPtr::new(ptr::null_mut()),
            state: AtomicPtr::new(ptr::null_mut()),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Its id is set last: who has read it may read the rest.
    fn set(&self, id: u64, event: Result<Raw, i32>) {
        let mut state: *const AtomicU32 = &OFF;
        if let Ok(event) = event {
            self.event.store(event.pointer(), Ordering::Relaxed);
            state = event.state();
        }
        self.state.store(state as *mut AtomicU32, Ordering::Relaxed);
        self.id.store(id, Ordering::Release);
    }

    #[inline]
    fn hit<K: Kinds, F: FnOnce(Hit) -> Done<K>>(&self, put: F) {
        // The event is never destroyed, so the word stays.
        if unsafe { &*self.state.load(Ordering::Relaxed) }.load(Ordering::Relaxed) != 0 {
            put(Hit(Raw::from(self.event.load(Ordering::Relaxed))));
        }
    }
}

/// A place in the program that records an event. In a generic function its values may have other
/// types at another hit, as there is one place for all instances of the function: each combination
/// of types is an event of its own, with the same name.
#[doc(hidden)]
pub struct Site {
    provider: &'static str,
    name: &'static str,
    level: c_uint,
    fields: &'static [&'static str],
    first: Known,
}

impl Site {
    pub const fn new(
        provider: &'static str,
        name: &'static str,
        level: c_uint,
        fields: &'static [&'static str],
    ) -> Site {
        Site { provider, name, level, fields, first: Known::new() }
    }

    #[inline]
    pub fn hit<K: Kinds, F: FnOnce(Hit) -> Done<K>>(&self, put: F) {
        if self.first.id.load(Ordering::Acquire) == K::ID {
            self.first.hit(put);
        } else {
            self.find(K::ID).unwrap_or_else(|| self.make(K::ID, K::KINDS)).hit(put);
        }
    }

    fn find(&self, id: u64) -> Option<&Known> {
        let mut known = &self.first;
        while known.id.load(Ordering::Acquire) != id {
            // It is null, or an event that is never freed. Pairs with the store in make().
            known = unsafe { known.next.load(Ordering::Acquire).as_ref() }?;
        }
        Some(known)
    }

    #[cold]
    fn make(&self, id: u64, kinds: &[Kind]) -> &Known {
        let event = self.define(kinds);
        let held = fork::lock_making();
        // Another thread may have made it meanwhile.
        if let Some(known) = self.find(id) {
            drop(held);
            if let Ok(event) = event {
                event.destroy();
            }
            return known;
        }
        if self.first.id.load(Ordering::Relaxed) == 0 {
            self.first.set(id, event);
            return &self.first;
        }
        let known = Box::leak(Box::new(Known::new()));
        known.set(id, event);
        known.next.store(self.first.next.load(Ordering::Relaxed), Ordering::Relaxed);
        // Pairs with the load in find().
        self.first.next.store(known, Ordering::Release);
        known
    }

    fn define(&self, kinds: &[Kind]) -> Result<Raw, i32> {
        let pointer = |name: &str| name.as_ptr() as *const c_char;
        // A field's name that is a keyword is spelled r#NAME.
        let plain = |name: &'static str| name.strip_prefix("r#").unwrap_or(name);
        let fields: Vec<RawField> = self
            .fields
            .iter()
            .zip(kinds)
            .map(|(name, &kind)| RawField { name: pointer(plain(name)), kind: kind as c_uint })
            .collect();
        Raw::create(pointer(self.provider), pointer(self.name), self.level, &fields)
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
