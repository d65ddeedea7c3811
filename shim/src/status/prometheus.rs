//! Metrics of the market in Prometheus text format. Never: a computation.

use super::facts::MarketFacts;
use super::reading::{Reading, SnapshotCounts};
use engine::early::Left;
use engine::pass::Stage;
use engine::store::chain::Uncomputed;
use host::{log, threads};
use kernel::american::Counts;
use sources::facts::{SourceFacts, SourceState};
use std::fmt::Write;

/// Appends the contents of `/health` as metrics.
pub(super) fn write(reading: &Reading, out: &mut String) {
    let (facts, counts) = (&reading.facts, &reading.counts);
    let gauges: [(&str, &str, f64); 27] = [
        ("uptime_seconds", "Time since the start", reading.uptime.as_secs_f64()),
        ("simulated", "1 if the market is simulated", f64::from(u8::from(reading.simulated))),
        ("market_open", "1 while the market is in session", f64::from(u8::from(facts.market_open))),
        ("snapshot_number", "Snapshots published", reading.snapshot_number as f64),
        ("snapshot_age_seconds", "Age of the snapshot", reading.snapshot_age_s),
        ("underlyings_failing", "Underlyings whose last computation panicked", facts.failing as f64),
        ("underlyings_restored", "Names restored from the last run and not yet recomputed", facts.restored as f64),
        ("feed_files_unusable", "Unusable files of the feed", facts.files_unusable as f64),
        ("loop_age_seconds", "Time since the last turn of the market loop", reading.loop_age_s),
        (
            "old_snapshots_bytes",
            "Memory of replaced chains that responses still read",
            reading.old_snapshot_bytes as f64,
        ),
        ("underlyings", "Underlyings in the snapshot", counts.underlyings as f64),
        ("underlyings_pending", "Underlyings without a snapshot yet", counts.pending as f64),
        (
            "underlyings_preliminary",
            "Underlyings that only the preliminary pass has computed so far",
            counts.preliminary as f64,
        ),
        ("underlyings_rough", "Deprecated name of greeksd_underlyings_preliminary", counts.preliminary as f64),
        (
            "underlyings_spot_off",
            "Underlyings whose options imply a different spot than the published one",
            counts.spot_off as f64,
        ),
        (
            "underlyings_doubted",
            "Underlyings whose options contradict the published spot, a usual borrow rate or dividends",
            counts.doubted as f64,
        ),
        (
            "underlyings_quotes_missed",
            "Underlyings most of whose quotes do not hold the value of their contract",
            counts.quotes_missed as f64,
        ),
        (
            "underlyings_dividends_unknown",
            "Underlyings with American options that no source of dividends covers",
            counts.dividends_unknown as f64,
        ),
        ("underlyings_mostly_stale", "Underlyings with mostly stale quotes", counts.mostly_stale as f64),
        (
            "underlyings_spot_implied",
            "Underlyings without a published price that are valued at the implied spot",
            counts.spot_implied as f64,
        ),
        (
            "adjusted_roots_valued",
            "Adjusted roots that are valued from their deliverable",
            counts.adjusted_valued as f64,
        ),
        (
            "adjusted_roots_without_terms",
            "Adjusted roots without Greeks because their deliverable is unknown",
            counts.adjusted_without_terms as f64,
        ),
        ("expiries", "Expiries (by root) in the snapshot", counts.expiries as f64),
        ("contracts", "Contracts in the snapshot", counts.contracts as f64),
        ("contracts_priced", "Contracts with Greeks", facts.contracts_priced as f64),
        ("pass_last_seconds", "Duration of the last pass", facts.pass.last_ms / 1000.0),
        ("pass_max_seconds", "Duration of the longest pass", facts.pass.max_ms / 1000.0),
    ];
    for (name, help, value) in gauges.into_iter().filter(|(_, _, value)| value.is_finite()) {
        metric(out, name, "gauge", help);
        let _ = writeln!(out, "greeksd_{name} {value}");
    }
    write_uncomputed(counts, out);
    if let Some(bytes) = reading.rss_bytes {
        metric(out, "rss_bytes", "gauge", "Resident memory");
        let _ = writeln!(out, "greeksd_rss_bytes {bytes}");
    }
    write_totals(facts, out);
    write_work(facts, out);
    write_threads(facts, out);
    write_tables(&facts.tables, out);
    write_quotes(facts, out);
    write_feeds(facts, out);
    write_record(facts, out);
    write_rates(facts, out);
}

fn write_rates(facts: &MarketFacts, out: &mut String) {
    let Some(rates) = &facts.rates else { return };
    metric(out, "rates_age_days", "gauge", "Days from the date of the discount curve to the newest values");
    let age = rates.age_days.unwrap_or_default();
    let _ = writeln!(out, "greeksd_rates_age_days{{source=\"{}\"}} {age}", rates.source);
}

fn write_uncomputed(counts: &SnapshotCounts, out: &mut String) {
    metric(out, "underlyings_uncomputed", "gauge", "Underlyings without Greeks, by reason");
    for (reason, count) in Uncomputed::ALL.iter().zip(counts.uncomputed) {
        let _ = writeln!(out, "greeksd_underlyings_uncomputed{{reason=\"{}\"}} {count}", reason.name());
    }
}

fn write_totals(facts: &MarketFacts, out: &mut String) {
    let totals = [
        ("chains_failed_total", "Computations of a chain that panicked", facts.failures),
        ("log_lines_dropped_total", "Log lines dropped because standard error was too slow", log::lines_dropped()),
        ("vol_searches_total", "Implied volatilities that needed a bracketed search", facts.searches),
        (
            "early_blocks_refreshed_total",
            "Blocks of contracts re-expanded from the early exercise tables",
            facts.early.taken(),
        ),
    ];
    for (name, help, value) in totals {
        metric(out, name, "counter", help);
        let _ = writeln!(out, "greeksd_{name} {value}");
    }
}

/// Writes counts of the work of passes, and the time in their stages.
fn write_work(facts: &MarketFacts, out: &mut String) {
    let early = &facts.early;
    let totals = [
        ("early_blocks_kept_total", "Blocks of contracts whose early exercise was carried on", early.kept),
        ("early_second_points_total", "Blocks of contracts that got a second expansion point", early.second_points),
        (
            "early_by_volatility_total",
            "Blocks whose premium at other volatilities was taken again",
            early.by_volatility,
        ),
        (
            "early_pricers_rebuilt_total",
            "Sets of exercise tables that time, rates or dividends had left",
            early.rebuilt,
        ),
        ("early_pricers_widened_total", "Sets of exercise tables that volatilities or strikes had left", early.widened),
    ];
    for (name, help, value) in totals {
        metric(out, name, "counter", help);
        let _ = writeln!(out, "greeksd_{name} {value}");
    }
    metric(out, "early_blocks_left_total", "counter", "Blocks of contracts taken again, by what the market had left");
    for (left, count) in Left::ALL.iter().zip(early.left) {
        let _ = writeln!(out, "greeksd_early_blocks_left_total{{reason=\"{}\"}} {count}", left.name());
    }
    metric(out, "early_work_total", "counter", "Reads of exercise tables by method, and what was solved for them");
    for (name, count) in early.work.named() {
        let _ = writeln!(out, "greeksd_early_work_total{{of=\"{name}\"}} {count}");
    }
    metric(out, "pass_stage_seconds_total", "counter", "Time that threads spent in the stages of passes");
    for (stage, nanos) in Stage::ALL.iter().zip(facts.stages) {
        let seconds = nanos as f64 * 1e-9;
        let _ = writeln!(out, "greeksd_pass_stage_seconds_total{{stage=\"{}\"}} {seconds}", stage.name());
    }
}

/// Writes panics by thread, without threads that never panicked, and the state of the state folder. Names of threads
/// are plain words, so that they need no escaping.
fn write_threads(facts: &MarketFacts, out: &mut String) {
    metric(out, "thread_faults_total", "counter", "Panics of the daemon's threads by thread; the threads continue");
    for (thread, count) in threads::faults() {
        let _ = writeln!(out, "greeksd_thread_faults_total{{thread=\"{thread}\"}} {count}");
    }
    let Some(state) = &facts.state else { return };
    metric(out, "state_failing", "gauge", "1 while the state folder cannot be written to");
    let _ = writeln!(out, "greeksd_state_failing {}", u8::from(state.failing));
    if let Some(at) = state.saved_at {
        metric(out, "state_saved_timestamp_seconds", "gauge", "Time of the last save of the market for a restart");
        let _ = writeln!(out, "greeksd_state_saved_timestamp_seconds {}", at.as_second());
    }
}

fn write_tables(tables: &Counts, out: &mut String) {
    metric(
        out,
        "exercise_tables",
        "gauge",
        "Early exercise tables in memory, by kind; `european`: slices that need none",
    );
    let Counts { boundaries, aligned, anchored, closed, european, refined } = *tables;
    let kinds = [
        ("boundary", boundaries),
        ("aligned", aligned),
        ("anchored", anchored),
        ("closed", closed),
        ("european", european),
    ];
    for (kind, count) in kinds {
        let _ = writeln!(out, "greeksd_exercise_tables{{kind=\"{kind}\"}} {count}");
    }
    metric(out, "exercise_tables_refined", "gauge", "Early exercise tables that were rebuilt at a finer resolution");
    let _ = writeln!(out, "greeksd_exercise_tables_refined {refined}");
}

fn write_quotes(facts: &MarketFacts, out: &mut String) {
    metric(out, "quotes_received_total", "counter", "Records that the feed delivered");
    let _ = writeln!(out, "greeksd_quotes_received_total {}", facts.quotes_received);
    metric(out, "quotes_dropped", "gauge", "Refused records and quotes that the snapshot does not use, by reason");
    for (reason, count) in &facts.quotes_dropped {
        let _ = writeln!(out, "greeksd_quotes_dropped{{reason=\"{reason}\"}} {count}");
    }
}

/// Writes the metrics of each feed, labelled by its name.
fn write_feeds(facts: &MarketFacts, out: &mut String) {
    let mut each = |name: &str, kind: &str, help: &str, value: &dyn Fn(&SourceFacts) -> Option<f64>| {
        let values = facts.sources.iter().filter_map(|feed| Some((feed, value(feed)?)));
        let lines: Vec<String> =
            values.map(|(feed, value)| format!("greeksd_{name}{{feed=\"{}\"}} {value}", label(&feed.feed))).collect();
        if !lines.is_empty() {
            metric(out, name, kind, help);
            lines.iter().for_each(|line| _ = writeln!(out, "{line}"));
        }
    };
    each("feed_up", "gauge", "1 while a feed delivers", &|feed| {
        Some(f64::from(u8::from(feed.state == SourceState::Ok)))
    });
    each("feed_delay_seconds", "gauge", "Delay of the quotes of a feed", &|feed| Some(feed.delay.as_secs_f64()));
    each("feed_last_success_seconds", "gauge", "Time since the last usable data of a feed", &|feed| {
        Some(feed.last_success?.as_secs_f64())
    });
    each("feed_requests_total", "counter", "Requests sent to a feed", &|feed| Some(feed.requests as f64));
    each("feed_connections", "gauge", "Connections that push to a feed", &|feed| Some(feed.connections as f64));
    each(
        "feed_superseded_total",
        "counter",
        "Quotes and prices superseded by later ones before they were processed",
        &|feed| Some(feed.superseded as f64),
    );
    if facts.sources.iter().any(|feed| !feed.failures.is_empty()) {
        metric(out, "feed_failures_total", "counter", "Failures of a feed, by kind");
    }
    for feed in &facts.sources {
        for (kind, count) in &feed.failures {
            let name = label(&feed.feed);
            let _ = writeln!(out, "greeksd_feed_failures_total{{feed=\"{name}\",kind=\"{kind}\"}} {count}");
        }
    }
}

/// Writes the metrics of the recorder.
fn write_record(facts: &MarketFacts, out: &mut String) {
    let Some(record) = &facts.record else { return };
    let totals = [
        ("record_written_total", "counter", "Quotes and prices recorded", record.written),
        (
            "record_dropped_total",
            "counter",
            "Quotes and prices not recorded because the disk is slow or full",
            record.dropped,
        ),
        ("record_bytes_total", "counter", "Compressed bytes recorded", record.bytes),
        ("record_failing", "gauge", "1 if the last write of the recording failed", u64::from(record.failing)),
    ];
    for (name, kind, help, value) in totals {
        metric(out, name, kind, help);
        let _ = writeln!(out, "greeksd_{name} {value}");
    }
}

/// Escapes a text as the value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn metric(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP greeksd_{name} {help}\n# TYPE greeksd_{name} {kind}");
}
