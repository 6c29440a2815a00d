// SPDX-License-Identifier: MIT
//! What the crate `tracing` logs, as events of trailfs.

use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::sync::{Arc, RwLock};

use tracing_core::callsite::Identifier;
use tracing_core::field::{Field as Name, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Level, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::{Event, Field, Kind};

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
/// `DEBUG`) and `debug` (of `TRACE`). After 120 combinations of names, levels and types further
/// ones are `rust:tracing`, with the target and all fields in strings.
#[derive(Default)]
pub struct Layer {
    /// Of each place in the program, what it logged until now.
    places: RwLock<HashMap<(Identifier, Part), Vec<Arc<Logged>>>>,
    /// By all that they consist of; guarded by the lock of `places` as well for changes.
    events: RwLock<HashMap<Shape, Arc<Logged>>>,
}

const EVENTS_MAX: usize = 120;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Event,
    Begin,
    End,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Shape {
    name: String,
    level: u32,
    fields: Vec<(&'static str, u8)>,
}

struct Logged {
    shape: Shape,
    event: Option<Event>,
    /// It is the one event for what has none of its own.
    shared: bool,
}

impl Logged {
    fn is_wanted(&self) -> bool {
        self.event.as_ref().map_or(false, Event::enabled)
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
        match self.0.iter_mut().find(|v| v.0 == name.name()) {
            Some(slot) => slot.1 = value,
            None => self.0.push((name.name(), value)),
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
        self.put(name, Value::Text(value.into()));
    }
    fn record_debug(&mut self, name: &Name, value: &dyn Debug) {
        self.put(name, Value::Text(format!("{:?}", value)));
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
    let text = text.replace("::", ".");
    let is_good = |c: char| c.is_ascii_alphanumeric() || "_.:@+-".contains(c);
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

fn define(shape: Shape) -> Logged {
    let names: Vec<String> = shape.fields.iter().map(|f| spell(f.0, 200)).collect();
    let kinds = [Kind::Signed, Kind::Unsigned, Kind::Float, Kind::Text];
    let fields: Vec<(&str, Kind)> = names
        .iter()
        .zip(&shape.fields)
        .map(|(name, field)| {
            let kind = kinds.iter().find(|k| **k as u8 == field.1);
            (name.as_str(), *kind.unwrap_or(&Kind::Text))
        })
        .collect();
    let event = Event::new("rust", &shape.name, shape.level, &fields).ok();
    Logged { shape, event, shared: false }
}

fn define_shared() -> Logged {
    let text = Kind::Text as u8;
    let shape = Shape {
        name: "tracing".into(),
        level: 14,
        fields: vec![("target", text), ("level", text), ("fields", text)],
    };
    Logged { shared: true, ..define(shape) }
}

impl Layer {
    pub fn new() -> Layer {
        Layer::default()
    }

    /// Whether a session may want what this place in the program logs. A place that has logged
    /// nothing yet has no event that could say it.
    fn is_wanted(&self, metadata: &Metadata<'_>, part: Part) -> bool {
        match self.places.read() {
            Ok(places) => places
                .get(&(metadata.callsite(), part))
                .map_or(true, |all| all.iter().any(|l| l.is_wanted())),
            Err(_) => false,
        }
    }

    fn find(&self, metadata: &Metadata<'_>, part: Part, values: &Values) -> Option<Arc<Logged>> {
        let place = (metadata.callsite(), part);
        let fields: Vec<_> = values.0.iter().map(|(n, v)| (*n, v.kind() as u8)).collect();
        if let Some(all) = self.places.read().ok()?.get(&place) {
            if let Some(found) = all.iter().find(|l| l.shared || l.shape.fields == fields) {
                return Some(found.clone());
            }
        }
        let (name, level) = (name_of(metadata, part), level_of(metadata.level()));
        let shape = Shape { name, level, fields };
        let mut places = self.places.write().ok()?;
        let mut events = self.events.write().ok()?;
        let found = match events.get(&shape) {
            Some(found) => found.clone(),
            None if events.len() < EVENTS_MAX => {
                let made = Arc::new(define(shape.clone()));
                events.insert(shape, made.clone());
                made
            }
            None => {
                let key = Shape { name: String::new(), level: 0, fields: Vec::new() };
                events.entry(key).or_insert_with(|| Arc::new(define_shared())).clone()
            }
        };
        let all = places.entry(place).or_default();
        if !all.iter().any(|l| Arc::ptr_eq(l, &found)) {
            all.push(found.clone());
        }
        Some(found)
    }

    fn record(&self, metadata: &Metadata<'_>, part: Part, values: &Values) {
        let logged = match self.find(metadata, part, values) {
            Some(logged) if logged.is_wanted() => logged,
            _ => return,
        };
        if let Some(event) = &logged.event {
            // The event was found by the kinds of the values: there is no error.
            let _ = if logged.shared {
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
        if self.is_wanted(event.metadata(), Part::Event) {
            let mut values = Values::default();
            event.record(&mut values);
            self.record(event.metadata(), Part::Event, &values);
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
            if let Some(values) = span.extensions_mut().get_mut::<Values>() {
                record.record(values);
            }
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            if self.is_wanted(span.metadata(), Part::Begin) {
                if let Some(values) = span.extensions().get::<Values>() {
                    self.record(span.metadata(), Part::Begin, values);
                }
            }
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            if self.is_wanted(span.metadata(), Part::End) {
                self.record(span.metadata(), Part::End, &Values::default());
            }
        }
    }
}
