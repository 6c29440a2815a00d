// SPDX-License-Identifier: GPL-2.0-or-later
//! What is difficult for trail::Layer, of which there are two here: each record comes twice.
use std::fmt;
use tracing::{debug, error, field::Empty, info, info_span, Span, Value};
use tracing_subscriber::prelude::*;

struct Fails;

impl fmt::Debug for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("part")?;
        Err(fmt::Error)
    }
}

struct Panics;

impl fmt::Debug for Panics {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!()
    }
}

struct Logs;

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span::current().record("late", &3);
        info!("nested");
        f.write_str("logs")
    }
}

fn generic<T: Value>(x: T) {
    info!(x, "generic");
}

macro_rules! many {
    ($($name:ident)*) => { $(
        error!($name = 2, "many");
        debug!($name = 3, "many");
    )* }
}

fn main() {
    let two = (trail::Layer::new(), trail::Layer::default());
    tracing_subscriber::registry().with(two.0).with(two.1).init();
    info!(why = ?Fails, "fails");
    std::panic::set_hook(Box::new(|_| ()));
    info!(why = ?Panics, "panics");
    {
        let span = info_span!("span", late = Empty, shown = Empty);
        let _entered = span.enter();
        span.record("shown", &tracing::field::debug(Logs));
        span.in_scope(|| ());
    }
    generic("text");
    generic(7);
    generic(1.5);
    info!(target: "", r#type = 1, "no target");
    info!(text = "a\0b", "nul\0");
    trail::trail!("my_app", "keywords", r#type = 1, r#fn = "x");
    many!(a b c d e f g h i j k l m n o p q r s t u v w x y z aa ab ac ad ae af ag ah ai aj ak al am
        an ao ap aq ar at au av aw ax ay az ba bb bc bd be bf bg bh bi bj bk bl bm bn bo bp bq);
}
