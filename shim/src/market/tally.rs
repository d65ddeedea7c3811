//! Counts of the market loop: durations of rounds, unused quotes of chains, failed computations. Never: a computation
//! of values.

use super::feed::FeedProgress;
use crate::status::{MarketFacts, PassFacts};
use engine::early::EarlyWork;
use engine::pass::{ChainReport, StageTimes};
use engine::store::drop_reason::DropReason;
use kernel::american::Counts;
use kernel::contract::Symbol;
use kernel::error::Reason;
use sources::facts::SourceFacts;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The counts of the market loop.
#[derive(Default)]
pub(super) struct Tally {
    reports: BTreeMap<Symbol, ChainReport>,
    rounds_ms: VecDeque<f64>,
    longest_ms: f64,
    searches: u64,
    early: EarlyWork,
    stages: StageTimes,
    /// Names whose last computation panicked.
    failing: BTreeSet<Symbol>,
    failures: u64,
}

impl Tally {
    /// Drops names that are not listed any more.
    pub(super) fn retain(&mut self, listed: &BTreeSet<Symbol>) {
        self.reports.retain(|name, _| listed.contains(name));
        self.failing.retain(|name| listed.contains(name));
    }

    /// Counts a computed name. Returns true if its dividends were refused and had not been before.
    pub(super) fn count(&mut self, name: Symbol, report: ChainReport, pass: &mut PassFacts) -> bool {
        pass.expiries += u64::from(report.slices);
        pass.contracts += u64::from(report.contracts);
        self.searches += u64::from(report.searched);
        #[expect(clippy::arithmetic_side_effects, reason = "counts of blocks and tables")]
        {
            self.early += report.early;
        }
        self.stages.iter_mut().zip(report.stages).for_each(|(sum, nanos)| *sum += nanos);
        self.failing.remove(&name);
        let before = self.reports.insert(name, report).map_or(0, |report| report.dividends_refused);
        before == 0 && report.dividends_refused > 0
    }

    /// Counts a name whose computation panicked. Returns true for the first time since it was last computed.
    pub(super) fn count_failure(&mut self, name: Symbol) -> bool {
        self.failures += 1;
        self.failing.insert(name)
    }

    /// True if the last computation of a name panicked.
    pub(super) fn is_failing(&self, name: Symbol) -> bool {
        self.failing.contains(&name)
    }

    /// Adds the duration of a round; the median is over the last `kept` rounds.
    pub(super) fn time_round(&mut self, took: Duration, kept: usize, pass: &mut PassFacts) {
        pass.last_ms = took.as_secs_f64() * 1e3;
        self.longest_ms = self.longest_ms.max(pass.last_ms);
        self.rounds_ms.push_back(pass.last_ms);
        if self.rounds_ms.len() > kept {
            self.rounds_ms.pop_front();
        }
        let mut sorted: Vec<f64> = self.rounds_ms.iter().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        pass.p50_ms = sorted[sorted.len() / 2];
        pass.max_ms = self.longest_ms;
    }

    /// The counts, as requests see them.
    pub(super) fn facts(
        &self,
        market_open: bool,
        pass: PassFacts,
        feed: &FeedProgress,
        sources: Vec<SourceFacts>,
    ) -> MarketFacts {
        let mut tables = Counts::default();
        #[expect(clippy::arithmetic_side_effects, reason = "counts of tables in memory")]
        self.reports.values().for_each(|report| tables += report.tables);
        MarketFacts {
            market_open,
            contracts_priced: self.reports.values().map(|r| u64::from(r.priced)).sum(),
            pass,
            quotes_received: feed.records,
            quotes_dropped: by_reason(feed, self.reports.values()),
            searches: self.searches,
            early: self.early,
            stages: self.stages,
            tables,
            state_bytes: self.reports.values().map(|report| report.state_bytes).sum(),
            book_bytes: 0,
            session_bytes: 0,
            failing: self.failing.len(),
            files_unusable: feed.files_unusable,
            restored: 0,
            failures: self.failures,
            sources,
            record: None,
            state: None,
            overrides: None,
            rates: None,
        }
    }
}

/// Counts of refused records so far and of quotes that the chains of the snapshot do not use, by reason, without zeros.
fn by_reason<'r>(feed: &FeedProgress, reports: impl Iterator<Item = &'r ChainReport>) -> Vec<(&'static str, u64)> {
    let mut unused = [0; DropReason::ALL.len()];
    for report in reports {
        unused.iter_mut().zip(report.dropped).for_each(|(sum, n)| *sum += u64::from(n));
    }
    let refused = Reason::ALL.iter().zip(feed.refused).map(|(reason, n)| (reason.name(), n));
    let refused = refused.chain([("outside_session", feed.outside_session)]);
    let cleaned = DropReason::ALL.iter().zip(unused).map(|(drop, n)| (drop.name(), n));
    refused.chain(cleaned).filter(|&(_, n)| n > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_that_occurs_is_shown_by_its_name() {
        for (i, drop) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(drop as usize, i, "{}", drop.name());
            let mut report = ChainReport::default();
            report.dropped[drop as usize] = 2;
            let shown = by_reason(&FeedProgress::default(), [report, report].iter());
            assert_eq!(shown, [(drop.name(), 4)]);
        }
        for reason in Reason::ALL {
            let mut feed = FeedProgress::default();
            feed.refused[reason as usize] = 3;
            assert_eq!(by_reason(&feed, [].iter()), [(reason.name(), 3)]);
        }
        let held = FeedProgress { outside_session: 7, ..FeedProgress::default() };
        assert_eq!(by_reason(&held, [].iter()), [("outside_session", 7)]);
        let names: BTreeSet<&str> =
            DropReason::ALL.iter().map(|d| d.name()).chain(Reason::ALL.iter().map(|r| r.name())).collect();
        assert_eq!(names.len(), DropReason::ALL.len() + Reason::ALL.len(), "one name, one reason");
    }

    #[test]
    fn the_median_is_that_of_the_last_rounds_and_the_longest_of_all() {
        let (mut tally, mut pass) = (Tally::default(), PassFacts::default());
        for ms in [900, 10, 30, 20] {
            tally.time_round(Duration::from_millis(ms), 3, &mut pass);
        }
        let whole = |ms: f64| ms.round() as u32;
        assert_eq!((whole(pass.last_ms), whole(pass.p50_ms), whole(pass.max_ms)), (20, 20, 900));
    }
}
