//! Two weeks of the embedded market, with Thanksgiving, the early close after it, ex-dates and settlements in the
//! morning and in the afternoon; and the days around a change of clocks. What each hour is to show stands in
//! `fortnight.csv`, which `fortnight.py` wrote from dates alone; what else is expected is computed here from dates and
//! closed forms.

use super::*;
use crate::config::RatesMode;
use ::sim::SimOptions;
use engine::store::chain::Slice;
use engine::store::columns::Col;
use jiff::civil::date;
use kernel::calendar::shift::ShiftDate;
use kernel::contract::{Right, Settle, Style};
use std::collections::HashMap;

/// An index with contracts that settle in the morning and ones that settle every afternoon, one whose forward is its
/// spot, one that pays a dividend every session, a company with a special dividend.
const NAMES: [&str; 4] = ["SPX", "VIX", "RUT", "DDS"];

/// Ex-dates and amounts, by underlying.
type Dividends = BTreeMap<Symbol, Vec<(Date, f64)>>;

/// A line of the table.
struct Hour {
    at: Timestamp,
    is_open: bool,
    valued: Timestamp,
    next: Timestamp,
    spxw: (Date, f64),
    spx: (Date, f64),
    vix: Date,
}

fn table() -> Vec<Hour> {
    let read = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let instant = |i: usize| cells[i].parse::<Timestamp>().unwrap();
        let listed = |i: usize| (cells[i].parse::<Date>().unwrap(), cells[i + 1].parse::<f64>().unwrap());
        Hour {
            at: instant(0),
            is_open: cells[1] == "open",
            valued: instant(2),
            next: instant(3),
            spxw: listed(4),
            spx: listed(6),
            vix: cells[8].parse().unwrap(),
        }
    };
    include_str!("fortnight.csv").lines().skip(1).map(read).collect()
}

/// An Eastern hour and minute of the day of a date: summer time is from the second Sunday of March to the first one of
/// November, and no hour here is before 02:00 on either.
fn eastern(day: Date, hour: i64, minute: i64) -> Timestamp {
    let sunday = |month: i8, nth: i32| {
        let first = date(day.year(), month, 1);
        let to_sunday = (7 - i32::from(first.weekday().to_sunday_zero_offset())) % 7;
        first.plus_days(to_sunday + 7 * (nth - 1))
    };
    let is_summer = day >= sunday(3, 2) && day < sunday(11, 1);
    let days = day.duration_since(date(1970, 1, 1)).as_hours() / 24;
    let hours = hour + if is_summer { 4 } else { 5 };
    Timestamp::from_second(days * 86_400 + hours * 3600 + minute * 60).unwrap()
}

fn settles(expiry: Date, settle: Settle) -> Timestamp {
    let is_early = [date(2026, 11, 27), date(2026, 12, 24)].contains(&expiry);
    match settle {
        Settle::Am => eastern(expiry, 9, 30),
        Settle::Pm => eastern(expiry, if is_early { 13 } else { 16 }, 0),
    }
}

/// A few names of the embedded market, and the dividends that it has of them.
struct SmallFeed {
    feed: SimFeed,
    dividends: Arc<Mutex<Dividends>>,
    /// For when each name was handed out last.
    handed: BTreeMap<Symbol, Timestamp>,
}

fn is_chosen(name: &Symbol) -> bool {
    NAMES.contains(&name.as_str())
}

impl Feed for SmallFeed {
    fn poll(&mut self, moment: &Moment<'_>) -> Vec<Symbol> {
        self.feed.poll(moment).into_iter().filter(is_chosen).collect()
    }

    fn changed(&mut self, _: &Moment<'_>) -> Vec<Symbol> {
        Vec::new()
    }

    fn names(&self) -> BTreeSet<Symbol> {
        self.feed.names().into_iter().filter(is_chosen).collect()
    }

    fn contracts(&self, name: Symbol, now: Timestamp) -> usize {
        self.feed.contracts(name, now)
    }

    fn pays_dividends(&self, name: Symbol) -> bool {
        self.feed.pays_dividends(name)
    }

    fn requeue(&mut self, names: &[Symbol]) {
        names.iter().for_each(|name| _ = self.handed.remove(name));
        self.feed.requeue(names);
    }

    fn books<'a>(&'a mut self, names: &[Symbol], now: Timestamp, passes: &Passes) -> Vec<(&'a Book, Timestamp)> {
        let mut books = self.feed.books(names, now, passes);
        // the others are never asked for, so that the feed looks as if it had something new at every hour
        books.retain(|&(book, at)| self.handed.insert(book.underlying, at) != Some(at));
        let of = books.iter().map(|(book, _)| (book.underlying, book.dividends.clone()));
        self.dividends.lock().unwrap().extend(of);
        books
    }

    fn reference(&self) -> &ReferenceData {
        self.feed.reference()
    }

    fn book_bytes(&self) -> usize {
        0
    }

    fn progress(&self) -> FeedProgress {
        self.feed.progress()
    }
}

type Contract = (Symbol, Date, u32, Right);

/// One run over a range of the table.
struct Run {
    market: MarketLoop,
    dividends: Arc<Mutex<Dividends>>,
    /// Volatilities of the last hour, and what the session before ended with.
    vols: HashMap<Contract, f64>,
    prior: HashMap<Contract, f64>,
    /// The instant of the last hour's values, and the chains that showed them.
    shown: Option<(Timestamp, Vec<Arc<Chain>>)>,
    /// How many contracts were looked at: settled within the next day, with a volatility before, ex-dates ahead,
    /// European.
    seen: [usize; 4],
    /// Differences from the expectations.
    wrong: Vec<String>,
}

impl Run {
    fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(what());
        }
    }

    fn begin(at: Timestamp) -> Self {
        let dividends = Arc::<Mutex<BTreeMap<_, _>>>::default();
        let feed = SmallFeed {
            feed: SimFeed::open(SimOptions::default(), at, RatesMode::Auto),
            dividends: Arc::clone(&dividends),
            handed: BTreeMap::new(),
        };
        let market = market_loop_over(Box::new(feed));
        Self {
            market,
            dividends,
            vols: HashMap::new(),
            prior: HashMap::new(),
            shown: None,
            seen: [0; 4],
            wrong: Vec::new(),
        }
    }

    fn hour(&mut self, hour: &Hour) {
        self.market.clock = MarketClock::Fixed(hour.at);
        assert!(self.market.turn(&|| false), "{}", hour.at);
        let snapshot = self.market.market.load_full();
        let facts = self.market.status.facts();
        assert_eq!((facts.market_open, facts.failing), (hour.is_open, 0), "{}", hour.at);
        if let Some((valued, before)) = self.shown.take() {
            let is_same = before.iter().zip(snapshot.chains()).all(|(old, new)| Arc::ptr_eq(old, new));
            self.check((valued == hour.valued) == is_same, || {
                format!("{}: what is held is not computed again, and all else is", hour.at)
            });
            let session = |at: Timestamp| at.as_second() / 86_400;
            if session(valued) < session(hour.valued) {
                self.prior = std::mem::take(&mut self.vols);
            }
        }
        self.shown = Some((hour.valued, snapshot.chains().to_vec()));
        assert_eq!(snapshot.chains().len(), NAMES.len());
        for chain in snapshot.chains() {
            let late = hour.valued.duration_since(chain.valued_at).as_secs();
            // what has no new quote is computed again after a minute
            let is_due = (0..60).contains(&late);
            let is_computed = is_due && chain.uncomputed.is_none();
            self.check(is_computed, || format!("{} at {}: {late} s late", chain.underlying, hour.at));
            let vols = chain.columns.get(Col::SvcVol);
            let finite = vols.iter().filter(|vol| vol.is_finite()).count();
            let (name, n) = (chain.underlying, vols.len());
            self.check(finite * 100 >= n * 99, || format!("{name} at {}: {finite} of {n} have a volatility", hour.at));
            chain.slices.iter().for_each(|slice| self.slice(hour, chain, slice));
        }
        self.listed(hour, &snapshot);
    }

    /// The first expiry of each root of the table, and its days.
    fn listed(&mut self, hour: &Hour, snapshot: &Snapshot) {
        let first = |name: &str, root: &str| {
            let chain = snapshot.chains().iter().find(|chain| chain.underlying.as_str() == name).unwrap();
            let slice = chain.slices.iter().find(|slice| slice.root.as_str() == root).unwrap();
            (slice.expiry, slice.days)
        };
        for (root, (expiry, days)) in [("SPXW", hour.spxw), ("SPX", hour.spx)] {
            let shown = first("SPX", root);
            let is_right = shown.0 == expiry && (shown.1 - days).abs() < 1e-8;
            self.check(is_right, || format!("{root} at {}: {shown:?}, not {expiry} in {days} days", hour.at));
        }
        let vix = first("VIX", "VIX").0;
        self.check(vix == hour.vix, || format!("VIX at {}: {vix}", hour.at));
    }

    fn slice(&mut self, hour: &Hour, chain: &Chain, slice: &Slice) {
        let Slice { root, expiry, .. } = *slice;
        let what = || format!("{root} {expiry} at {}", hour.at);
        let end = settles(expiry, slice.settle);
        self.check(slice.settles_at == end, || format!("{}: settles {}, not {end}", what(), slice.settles_at));
        let (valued, is_late) = (chain.valued_at, chain.valued_at != hour.valued);
        self.check(end > hour.valued, || format!("{} has settled", what()));
        let days = (end - valued).as_secs_f64() / 86_400.0;
        self.check((slice.days - days).abs() < 1e-9, || format!("{}: {} and {days} days", what(), slice.days));
        let dividends = self.dividends.lock().unwrap()[&chain.underlying].clone();
        let paid = |from: Timestamp, to: Timestamp| -> f64 {
            let live = dividends.iter().filter(|(day, _)| (from..=to).contains(&eastern(*day, 9, 30)));
            live.filter(|(day, _)| eastern(*day, 9, 30) > from).map(|d| d.1).sum()
        };
        let divs = paid(valued, end);
        self.check((slice.divs - divs).abs() < 1e-9, || format!("{}: {} and {divs} paid", what(), slice.divs));
        self.seen[2] += usize::from(divs > 0.0);
        let column = |col: Col| &chain.columns.get(col)[slice.rows.start as usize..slice.rows.end as usize];
        let (vol, theo, decay, prev) =
            (column(Col::SvcVol), column(Col::SvcTheo), column(Col::Decay), column(Col::PrevVol));
        let mut last = [f64::INFINITY, f64::NEG_INFINITY];
        for (row, at) in (slice.rows.start as usize..slice.rows.end as usize).enumerate() {
            let (milli, right) = (chain.strike_milli[at], chain.right[at]);
            let k = f64::from(milli) / 1000.0;
            let contract = (root, expiry, milli, right);
            let place = || format!("{} {right:?} {k}", what());
            let before = self.prior.get(&contract).copied().unwrap_or(f64::NAN);
            let is_same = prev[row].to_bits() == before.to_bits();
            self.check(is_same, || format!("{}: prev_vol {} and {before}", place(), prev[row]));
            self.seen[1] += usize::from(before.is_finite());
            if !vol[row].is_finite() {
                continue;
            }
            self.vols.insert(contract, vol[row]);
            // what is left to move: in the last seconds wings have high volatilities and little of the spot to go
            let to_go = vol[row] * (days / 365.0).sqrt();
            let is_sane =
                vol[row] > 0.005 && (vol[row] < 5.0 || to_go < 0.05) && theo[row].is_finite() && decay[row].is_finite();
            self.check(is_sane, || format!("{}: {} at {}, decay {}", place(), theo[row], vol[row], decay[row]));
            // calls fall with the strike, puts rise
            let near = if slice.style == Style::European { 1e-9 } else { 2e-5 };
            let phi = if right == Right::Call { 1.0 } else { -1.0 };
            let side = usize::from(right == Right::Put);
            let is_ordered = phi * (last[side] - theo[row]) >= -near * k;
            self.check(is_ordered, || format!("{}: {} after {}", place(), theo[row], last[side]));
            last[side] = theo[row];
            if is_late {
                continue;
            }
            let spot = slice.und_price - paid(valued, hour.next.min(end));
            if end <= hour.next {
                let want = (phi * (spot - k)).max(0.0) - theo[row];
                let is_right = (decay[row] - want).abs() < 1e-7 * k;
                self.check(is_right, || format!("{}: decay {} and {want} at settlement", place(), decay[row]));
                self.seen[0] += 1;
            } else if slice.style == Style::European && divs == 0.0 && root.as_str() != "VIX" && root.as_str() != "VIXW"
            {
                let left = (end - hour.next).as_secs_f64() / 86_400.0 / 365.0;
                let (r, b) = (slice.disc_rate, slice.borr_rate);
                let fwd = spot * ((r - b) * left).exp();
                let want = black(phi, fwd, k, vol[row] * left.sqrt()) * (-r * left).exp() - theo[row];
                let is_right = (decay[row] - want).abs() < 1e-6 * k;
                self.check(is_right, || format!("{}: decay {} and {want}", place(), decay[row]));
                self.seen[3] += 1;
            }
        }
    }
}

/// Black (1976), not discounted.
fn black(phi: f64, fwd: f64, k: f64, sd: f64) -> f64 {
    let cdf = |x: f64| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    let d1 = (fwd / k).ln() / sd + 0.5 * sd;
    phi * (fwd * cdf(phi * d1) - k * cdf(phi * (d1 - sd)))
}

fn run(first: Date, last: Date) -> [usize; 4] {
    let hours: Vec<Hour> = table().into_iter().filter(|hour| hour.at >= eastern(first, 0, 0)).collect();
    let hours: Vec<&Hour> = hours.iter().take_while(|hour| hour.at <= eastern(last, 23, 0)).collect();
    let mut run = Run::begin(hours[0].at);
    hours.iter().for_each(|hour| run.hour(hour));
    let (n, first) = (run.wrong.len(), run.wrong.iter().step_by(1 + run.wrong.len() / 60));
    assert!(n == 0, "{n} wrong, of these:\n{}", first.cloned().collect::<Vec<_>>().join("\n"));
    run.seen
}

#[test]
fn a_fortnight_with_thanksgiving_is_what_the_calendar_says() {
    let seen = run(date(2026, 11, 16), date(2026, 11, 30));
    assert!(seen.iter().all(|&n| n > 1000), "{seen:?}");
}

#[test]
fn the_days_around_a_change_of_clocks_are_what_the_calendar_says() {
    let seen = run(date(2026, 10, 30), date(2026, 11, 3));
    assert!(seen.iter().all(|&n| n > 200), "{seen:?}");
}

#[test]
fn the_whole_embedded_market_has_nothing_new_while_it_is_closed() {
    let mut feed = SimFeed::open(SimOptions::default(), eastern(date(2026, 11, 25), 16, 30), RatesMode::Auto);
    let passes = Passes::new(2, |_| ()).unwrap();
    let mut due_at = |now: Timestamp| {
        let due = feed.poll(&Moment { now, latest: now, elapsed: Duration::ZERO, log: &|_| () });
        let valued: BTreeSet<Timestamp> = feed.books(&due, now, &passes).iter().map(|&(_, at)| at).collect();
        (due.len(), valued)
    };
    let (all, valued) = due_at(eastern(date(2026, 11, 25), 16, 30));
    assert!(all > 60 && valued == [eastern(date(2026, 11, 25), 16, 0)].into(), "{all}: {valued:?}");
    for (day, hour) in [(25, 17), (25, 23), (26, 10), (26, 15), (27, 9)] {
        assert_eq!(due_at(eastern(date(2026, 11, day), hour, 0)), (0, BTreeSet::new()), "{day}th, {hour}");
    }
    let open = eastern(date(2026, 11, 27), 9, 30);
    assert_eq!(due_at(open), (all, [open].into()));
}
