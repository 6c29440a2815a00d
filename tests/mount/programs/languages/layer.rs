// SPDX-License-Identifier: GPL-2.0-or-later
//! What trail::Layer records of the crate `tracing`.
use tracing::{debug, error, info, info_span, trace, warn};
use tracing_subscriber::prelude::*;

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
}
