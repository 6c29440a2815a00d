// SPDX-License-Identifier: MIT
//! What the crate `tracing` logs, as events of trailfs.

use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, RwLock, RwLockWriteGuard};

use tracing_core::callsite::Identifier;
use tracing_core::field::{Field as Name, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Level, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::{fork, Event, Field, Kind};

/// Records the events and spans of `tracing` while a session wants them:
///
/// ```
/// use tracing_subscriber::prelude::*;
/// tracing_subscriber::registry().with(trail::Layer::new()).init();
/// tracing::info!(id = 42, "request");    // rust:my_app { message = "request", id = 42 }
/// ```
///
/// An event has the name `rust:TARGET`, in which `.` replaces `::`; fields have the types that they
/// are logged with, `bool` is 0 or 1, and what is logged by its `Debug` form is a string. A span
/// has the events `rust:TARGET.NAME_begin`, with the span's fields, and `rust:TARGET.NAME_end` each
/// time that a thread enters and leaves it. Levels are `err`, `warning`, `info`, `debug_line` (of
/// `DEBUG`) and `debug` (of `TRACE`). After 96 combinations of names, levels and types in a process
/// further ones are `rust:tracing`, of the same level, with the target and all fields in strings.
pub struct Layer(());

/// What all layers of a process share, as do its events.
pub(crate) struct Table {
    /// What each place in the program logged until now.
    places: HashMap<Place, Arc<Logged>>,
    events: HashMap<Shape, Arc<Logged>>,
    /// By level: for what has no event of its own.
    shared: Vec<Arc<Logged>>,
}

static TABLE: RwLock<Option<Table>> = RwLock::new(None);

pub(crate) type Held = RwLockWriteGuard<'static, Option<Table>>;

/// Nothing else uses the table until the result is dropped.
pub(crate) fn hold() -> Held {
    TABLE.write().unwrap_or_else(|poisoned| poisoned.into_inner())
}

const EVENTS_MAX: usize = 96;
const FIELDS_MAX: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Event,
    Begin,
    End,
}

/// A place in the program, and the names and types of what it logs, which differ from time to time
/// in a generic function, or if a span gets values later.
type Place = (Identifier, Part, u64);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Shape {
    name: String,
    level: u32,
    fields: Vec<(&'static str, u8)>,
}

struct Logged {
    event: Option<Event>,
    /// The level for which it is the one event for what has none of its own.
    shared: Option<u32>,
}

impl Logged {
    fn is_wanted(&self) -> bool {
        self.event.as_ref().map_or(false, Event::enabled)
    }
}

/// A hash of names and types, which makes no value.
struct Kinds(u64);

impl Kinds {
    fn put(&mut self, name: &'static str, kind: Kind) {
        for part in [name.as_ptr() as u64, kind as u64] {
            self.0 = (self.0 ^ part).wrapping_mul(0x100_0000_01b3).rotate_left(29);
        }
    }

    fn of(values: &Values) -> u64 {
        let mut kinds = Kinds(0);
        values.0.iter().for_each(|v| kinds.put(v.0, v.1.kind()));
        kinds.0
    }
}

impl Visit for Kinds {
    fn record_i64(&mut self, name: &Name, _: i64) {
        self.put(name.name(), Kind::Signed);
    }
    fn record_u64(&mut self, name: &Name, _: u64) {
        self.put(name.name(), Kind::Unsigned);
    }
    fn record_f64(&mut self, name: &Name, _: f64) {
        self.put(name.name(), Kind::Float);
    }
    fn record_bool(&mut self, name: &Name, _: bool) {
        self.put(name.name(), Kind::Unsigned);
    }
    fn record_str(&mut self, name: &Name, _: &str) {
        self.put(name.name(), Kind::Text);
    }
    fn record_debug(&mut self, name: &Name, _: &dyn Debug) {
        self.put(name.name(), Kind::Text);
    }
}

#[derive(Clone)]
enum Value {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl Value {
    fn field(&self) -> Field<'_> {
        match self {
            Value::Signed(i) => Field::Signed(*i),
            Value::Unsigned(u) => Field::Unsigned(*u),
            Value::Float(d) => Field::Float(*d),
            Value::Text(s) => Field::Text(s),
        }
    }

    fn kind(&self) -> Kind {
        self.field().kind()
    }
}

/// The values of an event or a span, in the order in which they were logged.
#[derive(Default)]
struct Values(Vec<(&'static str, Value)>);

impl Values {
    fn put(&mut self, name: &Name, value: Value) {
        self.set(name.name(), value);
    }

    fn set(&mut self, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|v| v.0 == name) {
            Some(slot) => slot.1 = value,
            None => self.0.push((name, value)),
        }
    }

    fn print(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.0 {
            let blank = if text.is_empty() { "" } else { " " };
            // Writing to a string does not fail.
            let _ = match value {
                Value::Signed(v) => write!(text, "{}{}={}", blank, name, v),
                Value::Unsigned(v) => write!(text, "{}{}={}", blank, name, v),
                Value::Float(v) => write!(text, "{}{}={}", blank, name, v),
                Value::Text(v) => write!(text, "{}{}={:?}", blank, name, v),
            };
        }
        text
    }
}

impl Visit for Values {
    fn record_i64(&mut self, name: &Name, value: i64) {
        self.put(name, Value::Signed(value));
    }
    fn record_u64(&mut self, name: &Name, value: u64) {
        self.put(name, Value::Unsigned(value));
    }
    fn record_f64(&mut self, name: &Name, value: f64) {
        self.put(name, Value::Float(value));
    }
    fn record_bool(&mut self, name: &Name, value: bool) {
        self.put(name, Value::Unsigned(value.into()));
    }
    fn record_str(&mut self, name: &Name, value: &str) {
        self.put(name, Value::Text(shown(value.into())));
    }
    fn record_debug(&mut self, name: &Name, value: &dyn Debug) {
        let mut text = String::new();
        // A value that cannot be printed does not end the program because it is traced.
        let _ = catch_unwind(AssertUnwindSafe(|| write!(text, "{:?}", value)));
        self.put(name, Value::Text(shown(text)));
    }
}

/// A field's string ends at its first NUL.
fn shown(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\\x00")
    } else {
        text
    }
}

fn level_of(level: &Level) -> u32 {
    match *level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG => 13,
        Level::TRACE => 14,
    }
}

/// What a name may consist of.
fn spell(text: &str, most: usize) -> String {
    let text = text.strip_prefix("r#").unwrap_or(text).replace("::", ".");
    let is_good = |c: char| c.is_ascii_alphanumeric() || "_.:@+-".contains(c);
    let text = if text.is_empty() { "_" } else { &text };
    text.chars().take(most).map(|c| if is_good(c) { c } else { '_' }).collect()
}

fn name_of(metadata: &Metadata<'_>, part: Part) -> String {
    let target = spell(metadata.target(), 120);
    match part {
        Part::Event => target,
        Part::Begin => format!("{}.{}_begin", target, spell(metadata.name(), 120)),
        Part::End => format!("{}.{}_end", target, spell(metadata.name(), 120)),
    }
}

fn define(shape: &Shape) -> Option<Logged> {
    let mut names: Vec<String> = Vec::new();
    for field in &shape.fields {
        let mut name = spell(field.0, 200);
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    let kinds = [Kind::Signed, Kind::Unsigned, Kind::Float, Kind::Text];
    let fields: Vec<(&str, Kind)> = names
        .iter()
        .zip(&shape.fields)
        .map(|(name, field)| {
            let kind = kinds.iter().find(|k| **k as u8 == field.1);
            (name.as_str(), *kind.unwrap_or(&Kind::Text))
        })
        .collect();
    let event = Event::new("rust", &shape.name, shape.level, &fields).ok()?;
    Some(Logged { event: Some(event), shared: None })
}

const LEVELS: [Level; 5] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];

impl Table {
    fn new() -> Table {
        let text = Kind::Text as u8;
        let fields = vec![("target", text), ("level", text), ("fields", text)];
        let shared = LEVELS.iter().map(level_of).map(|level| {
            let shape = Shape { name: "tracing".into(), level, fields: fields.clone() };
            let event = define(&shape).and_then(|logged| logged.event);
            Arc::new(Logged { event, shared: Some(level) })
        });
        Table { shared: shared.collect(), places: HashMap::new(), events: HashMap::new() }
    }

    /// The event for what has this shape, if there is one already, or no room for another one.
    fn find(&self, shape: &Shape) -> Option<Arc<Logged>> {
        let found = self.events.get(shape).cloned();
        if self.events.len() < EVENTS_MAX && shape.fields.len() <= FIELDS_MAX {
            return found;
        }
        found.or_else(|| Some(self.shared(shape.level)))
    }

    fn shared(&self, level: u32) -> Arc<Logged> {
        let shared = self.shared.iter().find(|l| l.shared == Some(level));
        shared.unwrap_or(&self.shared[0]).clone()
    }
}

impl Default for Layer {
    fn default() -> Layer {
        fork::watch();
        // Now, as later the program may have used all events itself.
        if let Ok(true) = TABLE.read().map(|table| table.is_none()) {
            let mut made = Some(Table::new());
            if let Ok(mut table) = TABLE.write() {
                // Another thread's stays; this one is dropped when the lock is free.
                if table.is_none() {
                    *table = made.take();
                }
            }
        }
        Layer(())
    }
}

impl Layer {
    pub fn new() -> Layer {
        Layer::default()
    }

    /// The event of a place that has logged this before.
    fn known(place: &Place) -> Option<Arc<Logged>> {
        TABLE.read().ok()?.as_ref()?.places.get(place).cloned()
    }

    /// Whether a session may want what this place in the program logs. One that has not logged it
    /// yet has no event that could say it.
    fn is_wanted(place: &Place) -> bool {
        match TABLE.read().as_deref() {
            Ok(Some(table)) => table.places.get(place).map_or(true, |l| l.is_wanted()),
            _ => false,
        }
    }

    fn make(metadata: &Metadata<'_>, place: Place, values: &Values) -> Option<Arc<Logged>> {
        let fields = values.0.iter().map(|(n, v)| (*n, v.kind() as u8)).collect();
        let level = level_of(metadata.level());
        let shape = Shape { name: name_of(metadata, place.1), level, fields };
        let known = TABLE.read().ok()?.as_ref()?.find(&shape);
        let made = if known.is_some() { None } else { define(&shape).map(Arc::new) };
        let mut table = TABLE.write().ok()?;
        let table = table.as_mut()?;
        // Another thread may have made it meanwhile. What is left over is dropped, and so is an
        // event of the library destroyed, after the lock, as `made` is older.
        let logged = match (known.or_else(|| table.find(&shape)), &made) {
            (Some(logged), _) => logged,
            (None, Some(made)) => {
                table.events.insert(shape, made.clone());
                made.clone()
            }
            (None, None) => table.shared(level),
        };
        Some(table.places.entry(place).or_insert(logged).clone())
    }

    fn record(&self, metadata: &Metadata<'_>, place: Place, values: &Values) {
        let part = place.1;
        let logged = Self::known(&place).or_else(|| Self::make(metadata, place, values));
        let logged = match logged {
            Some(logged) if logged.is_wanted() => logged,
            _ => return,
        };
        if let Some(event) = &logged.event {
            // The event was found by the kinds of the values: there is no error.
            let _ = if logged.shared.is_some() {
                event.record(&[
                    Field::Text(&name_of(metadata, part)),
                    Field::Text(metadata.level().as_str()),
                    Field::Text(&values.print()),
                ])
            } else {
                let fields: Vec<Field<'_>> = values.0.iter().map(|v| v.1.field()).collect();
                event.record(&fields)
            };
        }
    }
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_event(&self, event: &tracing_core::Event<'_>, _: Context<'_, S>) {
        let mut kinds = Kinds(0);
        event.record(&mut kinds);
        let place = (event.metadata().callsite(), Part::Event, kinds.0);
        if Self::is_wanted(&place) {
            let mut values = Values::default();
            event.record(&mut values);
            self.record(event.metadata(), place, &values);
        }
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        // A span lives for long: a session may want it later.
        if let Some(span) = context.span(id) {
            let mut values = Values::default();
            attributes.record(&mut values);
            span.extensions_mut().replace(values);
        }
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            // Printing a value may log, and may use the span, so nothing is locked meanwhile.
            let mut more = Values::default();
            record.record(&mut more);
            if let Some(values) = span.extensions_mut().get_mut::<Values>() {
                more.0.into_iter().for_each(|(name, value)| values.set(name, value));
            }
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            if let Some(values) = span.extensions().get::<Values>() {
                let place = (span.metadata().callsite(), Part::Begin, Kinds::of(values));
                if Self::is_wanted(&place) {
                    self.record(span.metadata(), place, values);
                }
            }
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let place = (span.metadata().callsite(), Part::End, 0);
            if Self::is_wanted(&place) {
                self.record(span.metadata(), place, &Values::default());
            }
        }
    }
}
