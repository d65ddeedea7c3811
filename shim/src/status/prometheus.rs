//! Metrics of the market in Prometheus text format. Never: a computation.

use super::facts::MarketFacts;
use super::reading::Reading;
use engine::early::Left;
use engine::pass::Stage;
use engine::store::chain::Uncomputed;
use host::{log, threads};
use http::metrics::{write_metric, write_number};
use kernel::american::Counts;
use sources::facts::{SourceFacts, SourceState};

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
        write_number(out, name, help, value);
    }
    let uncomputed = Uncomputed::ALL.iter().zip(counts.uncomputed);
    let uncomputed = uncomputed.map(|(reason, count)| ([("reason", reason.name())], count));
    write_metric(out, "underlyings_uncomputed", "Underlyings without Greeks, by reason", uncomputed);
    if let Some(bytes) = reading.rss_bytes {
        write_number(out, "rss_bytes", "Resident memory", bytes);
    }
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
    let age = rates.age_days.unwrap_or_default();
    let help = "Days from the date of the discount curve to the newest values";
    write_metric(out, "rates_age_days", help, [([("source", rates.source)], age)]);
}

/// Writes counts of the work of passes, and the time in their stages.
fn write_work(facts: &MarketFacts, out: &mut String) {
    let early = &facts.early;
    let totals = [
        ("chains_failed_total", "Computations of a chain that panicked", facts.failures),
        ("log_lines_dropped_total", "Log lines dropped because standard error was too slow", log::lines_dropped()),
        ("vol_searches_total", "Implied volatilities that needed a bracketed search", facts.searches),
        (
            "early_blocks_refreshed_total",
            "Blocks of contracts re-expanded from the early exercise tables",
            early.taken(),
        ),
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
        write_number(out, name, help, value);
    }
    let left = Left::ALL.iter().zip(early.left).map(|(left, count)| ([("reason", left.name())], count));
    write_metric(out, "early_blocks_left_total", "Blocks of contracts taken again, by what the market had left", left);
    let work = early.work.named().map(|(name, count)| ([("of", name)], count));
    write_metric(out, "early_work_total", "Reads of exercise tables by method, and what was solved for them", work);
    let stages = Stage::ALL.iter().zip(facts.stages);
    let stages = stages.map(|(stage, nanos)| ([("stage", stage.name())], nanos as f64 * 1e-9));
    write_metric(out, "pass_stage_seconds_total", "Time that threads spent in the stages of passes", stages);
}

/// Writes panics by thread, without threads that never panicked, and the state of the state folder.
fn write_threads(facts: &MarketFacts, out: &mut String) {
    let faults = threads::faults().into_iter().map(|(thread, count)| ([("thread", thread)], count));
    write_metric(out, "thread_faults_total", "Panics of the daemon's threads by thread; the threads continue", faults);
    let Some(state) = &facts.state else { return };
    write_number(out, "state_failing", "1 while the state folder cannot be written to", u8::from(state.failing));
    if let Some(at) = state.saved_at {
        let help = "Time of the last save of the market for a restart";
        write_number(out, "state_saved_timestamp_seconds", help, at.as_second());
    }
}

fn write_tables(tables: &Counts, out: &mut String) {
    let Counts { boundaries, aligned, anchored, closed, european, refined } = *tables;
    let kinds = [
        ("boundary", boundaries),
        ("aligned", aligned),
        ("anchored", anchored),
        ("closed", closed),
        ("european", european),
    ];
    let kinds = kinds.map(|(kind, count)| ([("kind", kind)], count));
    let help = "Early exercise tables in memory, by kind; `european`: slices that need none";
    write_metric(out, "exercise_tables", help, kinds);
    let help = "Early exercise tables that were rebuilt at a finer resolution";
    write_number(out, "exercise_tables_refined", help, refined);
}

fn write_quotes(facts: &MarketFacts, out: &mut String) {
    write_number(out, "quotes_received_total", "Records that the feed delivered", facts.quotes_received);
    let dropped = facts.quotes_dropped.iter().map(|&(reason, count)| ([("reason", reason)], count));
    write_metric(
        out,
        "quotes_dropped",
        "Refused records and quotes that the snapshot does not use, by reason",
        dropped,
    );
}

/// Writes the metrics of each feed, labelled by its name.
fn write_feeds(facts: &MarketFacts, out: &mut String) {
    let mut each = |name: &str, help: &str, value: &dyn Fn(&SourceFacts) -> Option<f64>| {
        let samples = facts.sources.iter().filter_map(|feed| Some(([("feed", feed.feed.as_str())], value(feed)?)));
        if samples.clone().next().is_some() {
            write_metric(out, name, help, samples);
        }
    };
    each("feed_up", "1 while a feed delivers", &|feed| Some(f64::from(u8::from(feed.state == SourceState::Ok))));
    each("feed_delay_seconds", "Delay of the quotes of a feed", &|feed| Some(feed.delay.as_secs_f64()));
    each("feed_last_success_seconds", "Time since the last usable data of a feed", &|feed| {
        Some(feed.last_success?.as_secs_f64())
    });
    each("feed_requests_total", "Requests sent to a feed", &|feed| Some(feed.requests as f64));
    each("feed_connections", "Connections that push to a feed", &|feed| Some(feed.connections as f64));
    each("feed_superseded_total", "Quotes and prices superseded by later ones before they were processed", &|feed| {
        Some(feed.superseded as f64)
    });
    let mut failures = facts.sources.iter().flat_map(|feed| {
        let labels = |kind| [("feed", feed.feed.as_str()), ("kind", kind)];
        feed.failures.iter().map(move |&(kind, count)| (labels(kind), count))
    });
    if let Some(first) = failures.next() {
        write_metric(out, "feed_failures_total", "Failures of a feed, by kind", [first].into_iter().chain(failures));
    }
}

/// Writes the metrics of the recorder.
fn write_record(facts: &MarketFacts, out: &mut String) {
    let Some(record) = &facts.record else { return };
    let help = "Quotes and prices not recorded because the disk is slow or full";
    write_number(out, "record_written_total", "Quotes and prices recorded", record.written);
    write_number(out, "record_dropped_total", help, record.dropped);
    write_number(out, "record_bytes_total", "Compressed bytes recorded", record.bytes);
    write_number(out, "record_failing", "1 if the last write of the recording failed", u8::from(record.failing));
}
