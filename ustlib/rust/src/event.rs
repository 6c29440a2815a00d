// SPDX-License-Identifier: MIT
//! The C interface of `<trail/event.h>`, and events whose fields are known at run time only.

use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

const EINVAL: i32 = 22;

#[repr(C)]
pub(crate) struct RawField {
    pub name: *const c_char,
    pub kind: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawText {
    begin: *const u8,
    length: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
union RawNumber {
    i: i64,
    u: u64,
    d: f64,
    t: *const RawText,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawValue {
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
        fields: *const RawField,
        count: c_uint,
    ) -> c_int;
    fn trail_event_destroy(event: *mut c_void);
    fn trail_event_state(event: *const c_void) -> *const AtomicU32;
    fn trail_event_record(event: *mut c_void, values: *const RawValue);
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// an integer with a sign, of 64 bits
    Signed = 1,
    /// an integer without a sign, of 64 bits
    Unsigned = 2,
    /// a floating point number, of 64 bits
    Float = 3,
    /// a string, which ends at its first NUL
    Text = 5,
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(&'a str),
}

impl Field<'_> {
    pub fn kind(&self) -> Kind {
        match self {
            Field::Signed(_) => Kind::Signed,
            Field::Unsigned(_) => Kind::Unsigned,
            Field::Float(_) => Kind::Float,
            Field::Text(_) => Kind::Text,
        }
    }

    fn text(&self) -> RawText {
        match self {
            Field::Text(s) => RawText { begin: s.as_ptr(), length: s.len() },
            _ => RawText { begin: ptr::null(), length: 0 },
        }
    }

    fn raw(&self, text: *const RawText) -> RawValue {
        let value = match *self {
            Field::Signed(i) => RawNumber { i },
            Field::Unsigned(u) => RawNumber { u },
            Field::Float(d) => RawNumber { d },
            Field::Text(_) => RawNumber { t: text },
        };
        RawValue { kind: self.kind() as c_uint, value }
    }
}

/// What the library has of an event. It is never freed but by `destroy`.
#[derive(Clone, Copy)]
pub(crate) struct Raw(*mut c_void);

impl Raw {
    /// Each name ends with a NUL.
    pub fn create(
        provider: *const c_char,
        name: *const c_char,
        level: c_uint,
        fields: &[RawField],
    ) -> Result<Raw, i32> {
        let mut event = ptr::null_mut();
        let count = fields.len() as c_uint;
        // The library copies the names.
        match unsafe {
            trail_event_create(&mut event, provider, name, level, fields.as_ptr(), count)
        } {
            0 => Ok(Raw(event)),
            error => Err(-error),
        }
    }

    pub fn from(pointer: *mut c_void) -> Raw {
        Raw(pointer)
    }

    pub fn pointer(self) -> *mut c_void {
        self.0
    }

    /// Nothing uses it any more.
    pub fn destroy(self) {
        unsafe { trail_event_destroy(self.0) }
    }

    /// Valid until the event is destroyed.
    pub fn state(self) -> *const AtomicU32 {
        unsafe { trail_event_state(self.0) }
    }

    /// The fields must be those of the event, which the caller checks. Nothing is allocated.
    pub unsafe fn record<const N: usize>(self, fields: &[Field<'_>; N]) {
        let texts: [RawText; N] = map(fields, |f, _| f.text());
        let values: [RawValue; N] = map(fields, |f, i| f.raw(&texts[i]));
        trail_event_record(self.0, values.as_ptr());
    }

    unsafe fn record_slice(self, fields: &[Field<'_>]) {
        let texts: Vec<RawText> = fields.iter().map(Field::text).collect();
        let values: Vec<RawValue> = fields.iter().zip(&texts).map(|(f, t)| f.raw(t)).collect();
        trail_event_record(self.0, values.as_ptr());
    }
}

fn map<'a, 'b, T: Copy, const N: usize>(
    fields: &'a [Field<'b>; N],
    make: impl Fn(&'a Field<'b>, usize) -> T,
) -> [T; N] {
    let mut out = [std::mem::MaybeUninit::<T>::uninit(); N];
    for (i, field) in fields.iter().enumerate() {
        out[i] = std::mem::MaybeUninit::new(make(field, i));
    }
    // Each element was written.
    unsafe { *(&out as *const _ as *const [T; N]) }
}

/// An event whose names and fields are known at run time only; the macro `trail!` is for others,
/// and costs less. A process has at most 128 events of both kinds.
pub struct Event {
    raw: Raw,
    state: *const AtomicU32,
    kinds: Vec<Kind>,
}

// The library's functions may be called in any thread.
unsafe impl Send for Event {}
unsafe impl Sync for Event {}

impl Event {
    /// Defines an event and registers it, which may wait for the daemon's answer. The level is a
    /// number from 0 (emerg) to 14 (debug). Names have no blanks, quotes, commas and brackets;
    /// the provider and the event's name have no control characters and backslashes either, the
    /// provider no colon. The error is an errno: `EINVAL`, `ENOSPC` (there are 128), `ENOMEM`.
    pub fn new(
        provider: &str,
        name: &str,
        level: u32,
        fields: &[(&str, Kind)],
    ) -> Result<Event, i32> {
        let c = |s: &str| CString::new(s).map_err(|_| EINVAL);
        let (provider, name) = (c(provider)?, c(name)?);
        let names: Vec<CString> = fields.iter().map(|f| c(f.0)).collect::<Result<_, i32>>()?;
        let table: Vec<RawField> = names
            .iter()
            .zip(fields)
            .map(|(name, f)| RawField { name: name.as_ptr(), kind: f.1 as c_uint })
            .collect();
        let raw = Raw::create(provider.as_ptr(), name.as_ptr(), level, &table)?;
        Ok(Event { raw, state: raw.state(), kinds: fields.iter().map(|f| f.1).collect() })
    }

    /// Whether a session wants it. It needs not be asked before `record`.
    #[inline]
    pub fn enabled(&self) -> bool {
        unsafe { &*self.state }.load(Ordering::Relaxed) != 0
    }

    /// Records the event if a session wants it. Values of other kinds or another number than the
    /// event's are an error, and record nothing.
    pub fn record(&self, values: &[Field<'_>]) -> Result<(), i32> {
        if !self.enabled() {
            return Ok(());
        }
        if values.len() != self.kinds.len()
            || values.iter().zip(&self.kinds).any(|(v, kind)| v.kind() != *kind)
        {
            return Err(EINVAL);
        }
        unsafe { self.raw.record_slice(values) };
        Ok(())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.raw.destroy()
    }
}
