//! Rules of alerts: one comparison a line, or contracts to exercise early. A line that cannot be read costs itself, and
//! is named with the reason.
//!
//! ```text
//! SPY spot < 700
//! SPY atm_vol 30d > 20 hysteresis 1 quiet 15m
//! KO borrow > 3%
//! NVDA event_move > 7%
//! SPY261218C00700000 delta > 0.6
//! exercise KO
//! positions dollar_delta abs > 100000
//! positions vega account ira < -5000
//! ```

use crate::listed::{ListedPlace, find};
use crate::positions::valued::ValuedBook;
use api::metrics::{NAME, NameRows, RowInputs, place_of};
use engine::closes::Closes;
use engine::exercise;
use engine::positions::PositionNumbers;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use engine::term::{Tenors, TermStructure};
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, RootTable, Symbol};
use kernel::position::{Instrument, PositionLine};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// Most rules of a file.
pub const RULES: usize = 1000;
/// Longest line.
const LINE_BYTES: usize = 200;
/// Default quiet period of a rule after a hit.
const QUIET: Duration = Duration::from_mins(1);
/// Default tenor, days.
const TENOR: f64 = 30.0;

/// One comparison, with its hysteresis and quiet period.
#[derive(Clone, Debug)]
pub struct AlertRule {
    /// Text of the rule.
    pub text: String,
    /// Line in the file, from 1.
    pub line: u64,
    subject: AlertSubject,
    is_abs: bool,
    is_above: bool,
    threshold: f64,
    /// The condition becomes false when the number is this far back from the threshold.
    hysteresis: f64,
    /// Minimum time between two hits.
    pub quiet: Duration,
}

/// The compared number.
#[derive(Clone, Debug)]
enum AlertSubject {
    Spot(Symbol),
    /// In percent, at a tenor in days.
    AtmVol(Symbol, f64),
    /// In percent, at a tenor in days.
    Borrow(Symbol, f64),
    /// A number of `/l1/metrics`, as it stands there, by its place in [`NAME`].
    Metric(Symbol, usize),
    Contract(ContractKey, Col),
    /// Number of contracts of a name whose early exercise pays: of those held, or of all if the name has no positions.
    Exercise(Symbol),
    Positions {
        number: fn(&PositionNumbers) -> f64,
        account: Option<String>,
        name: Option<Symbol>,
    },
}

/// Numbers that rules compare.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The market.
    pub snapshot: &'a Snapshot,
    /// The positions, valued.
    pub valued: &'a ValuedBook,
    /// Contracts to exercise, by [`exercised`].
    pub exercised: &'a HashMap<Symbol, f64>,
    /// Closes of earlier sessions.
    pub closes: &'a Closes,
    /// Metrics of names, for all who ask.
    pub rows: &'a NameRows,
    /// Term structures of names.
    pub terms: &'a NameTerms,
    /// Index roots.
    pub roots: &'a RootTable,
    /// Sessions.
    pub calendar: &'a Calendar,
}

/// Term structures of one snapshot, each made once for all rules on its name.
#[derive(Debug, Default)]
pub struct NameTerms(RefCell<HashMap<Symbol, Rc<TermStructure>>>);

impl NameTerms {
    fn of(&self, chain: &Chain, calendar: &Calendar) -> Rc<TermStructure> {
        let new = || Rc::new(TermStructure::of(chain, calendar));
        Rc::clone(self.0.borrow_mut().entry(chain.underlying).or_insert_with(new))
    }
}

/// Outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AlertState {
    /// The condition is true.
    On,
    /// The condition is false by at least the hysteresis.
    Off,
    /// The state does not change: the number lies within the hysteresis, or is missing.
    Same,
}

impl AlertRule {
    /// The underlying of the rule; `None`: positions of several.
    #[must_use]
    pub fn name(&self, roots: &RootTable) -> Option<Symbol> {
        match self.subject {
            AlertSubject::Spot(name)
            | AlertSubject::AtmVol(name, _)
            | AlertSubject::Borrow(name, _)
            | AlertSubject::Exercise(name)
            | AlertSubject::Metric(name, _) => Some(name),
            AlertSubject::Contract(key, _) => Some(roots.underlying_of(key.root)),
            AlertSubject::Positions { name, .. } => name,
        }
    }

    /// Compares a number with the threshold.
    #[must_use]
    pub fn state(&self, value: f64) -> AlertState {
        let value = if self.is_abs { value.abs() } else { value };
        let beyond = if self.is_above { value - self.threshold } else { self.threshold - value };
        match beyond {
            beyond if beyond.is_nan() => AlertState::Same,
            beyond if beyond > 0.0 => AlertState::On,
            beyond if beyond <= -self.hysteresis => AlertState::Off,
            _ => AlertState::Same,
        }
    }

    /// A number of the rule: metrics are decimal, and 7 % of one is 0.07.
    fn scaled(&self, x: f64, word: &str) -> f64 {
        let is_decimal = matches!(self.subject, AlertSubject::Metric(..));
        if is_decimal && word.ends_with('%') { x / 100.0 } else { x }
    }

    /// Reads what follows the comparison.
    fn read_rest(&mut self, rest: &[&str]) -> Result<(), String> {
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            let value = rest.next().ok_or_else(|| format!("{word}: no value"))?;
            match *word {
                "hysteresis" if !self.is_count() => {
                    let by = number(value).filter(|x| *x >= 0.0).ok_or("hysteresis: not a number")?;
                    self.hysteresis = self.scaled(by, value);
                }
                "quiet" => self.quiet = duration(value).ok_or("quiet: not a time such as 15m or 30s")?,
                word => return Err(format!("{word}: expected hysteresis or quiet")),
            }
        }
        Ok(())
    }

    /// True if the rule counts contracts. Such a rule hits again whenever the count grows, and has no hysteresis.
    #[must_use]
    pub fn is_count(&self) -> bool {
        matches!(self.subject, AlertSubject::Exercise(_))
    }

    /// The number that the rule compares; NaN if it is missing.
    #[must_use]
    pub fn value(&self, compared: &Compared<'_>) -> f64 {
        let Compared { snapshot, valued, exercised, closes, rows, terms, roots, calendar } = *compared;
        let chain = |name: &Symbol| snapshot.chain(*name);
        match &self.subject {
            AlertSubject::Spot(name) => chain(name).map_or(f64::NAN, |of| of.underlying_price()),
            AlertSubject::AtmVol(name, days) => chain(name).map_or(f64::NAN, |of| {
                let term = terms.of(of, calendar);
                100.0 * term.iv(&Tenors::of(&term.clock, of.valued_at, &[*days]), *days)
            }),
            AlertSubject::Borrow(name, days) => {
                chain(name).map_or(f64::NAN, |of| 100.0 * terms.of(of, calendar).at(*days, |expiry| expiry.borr_rate))
            }
            AlertSubject::Metric(name, place) => {
                let inputs = RowInputs { closes, calendar, roots };
                chain(name).map_or(f64::NAN, |of| rows.with(&[*place], of, inputs).number(*place))
            }
            AlertSubject::Contract(key, col) => {
                let place = find(Instrument::Contract(*key), snapshot, roots);
                place.map_or(f64::NAN, |place| exercise::column(&place.chain, *col)[place.row])
            }
            AlertSubject::Exercise(name) => exercised.get(name).copied().unwrap_or(f64::NAN),
            AlertSubject::Positions { number, account, name } => {
                valued.total(account.as_deref(), *name).map_or(f64::NAN, |total| number(&total.numbers))
            }
        }
    }

    /// Why the number cannot be had: name, contract or positions are not there. `None`: they are.
    #[must_use]
    pub fn unserved(&self, snapshot: &Snapshot, valued: &ValuedBook, roots: &RootTable) -> Option<String> {
        match &self.subject {
            AlertSubject::Spot(name)
            | AlertSubject::AtmVol(name, _)
            | AlertSubject::Borrow(name, _)
            | AlertSubject::Exercise(name)
            | AlertSubject::Metric(name, _) => snapshot.chain(*name).is_none().then(|| format!("{name} is not served")),
            AlertSubject::Contract(key, _) => {
                let why = find(Instrument::Contract(*key), snapshot, roots).err()?;
                Some(format!("the contract is {}", why.name().replace('_', " ")))
            }
            AlertSubject::Positions { account, name, .. } => {
                let what = account.clone().or_else(|| Some(name.as_ref()?.to_string())).unwrap_or_default();
                let is_there = !valued.positions.is_empty() && valued.total(account.as_deref(), *name).is_some();
                (!is_there).then(|| format!("no positions {what}").trim_end().to_owned())
            }
        }
    }
}

/// Reads a file of rules: rules, and complaints with line numbers. Empty lines and comments after `#` are ignored.
#[must_use]
pub fn parse_rules(text: &str) -> (Vec<AlertRule>, Vec<String>) {
    let (mut rules, mut complaints) = (Vec::new(), Vec::new());
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let rule = match parse_rule(text, line) {
            _ if rules.len() >= RULES => Err("more than a thousand rules".to_owned()),
            rule => rule,
        };
        match rule {
            Ok(rule) => rules.push(rule),
            Err(why) => complaints.push(format!("line {line}: {why}")),
        }
    }
    (rules, complaints)
}

fn parse_rule(text: &str, line: u64) -> Result<AlertRule, String> {
    if text.len() > LINE_BYTES {
        return Err("longer than 200 bytes".to_owned());
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    if let ["exercise", name, rest @ ..] = words.as_slice() {
        let symbol = Symbol::parse_underlying(name).ok_or_else(|| format!("{name}: not a symbol"))?;
        let mut rule = AlertRule {
            text: words.join(" "),
            line,
            subject: AlertSubject::Exercise(symbol),
            is_abs: false,
            is_above: true,
            threshold: 0.0,
            hysteresis: 0.0,
            quiet: QUIET,
        };
        rule.read_rest(rest)?;
        return Ok(rule);
    }
    let operator = words.iter().position(|word| matches!(*word, ">" | "<" | ">=" | "<="));
    let at = operator.ok_or("no comparison: expected > or < with blanks around it")?;
    let (left, right) = (&words[..at], &words[at + 1..]);
    let threshold = right.first().and_then(|word| number(word)).ok_or("no number after the comparison")?;
    let mut rule = AlertRule {
        text: words.join(" "),
        line,
        subject: AlertSubject::Spot(Symbol::parse("X").ok_or("no subject")?),
        is_abs: left.contains(&"abs"),
        is_above: words[at].starts_with('>'),
        threshold,
        hysteresis: 0.0,
        quiet: QUIET,
    };
    let left: Vec<&str> = left.iter().copied().filter(|word| *word != "abs").collect();
    rule.subject = subject(&left)?;
    rule.threshold = rule.scaled(rule.threshold, right[0]);
    rule.read_rest(&right[1..])?;
    Ok(rule)
}

/// The numbers of contracts that are right to exercise, now or before the next ex-date, of the names of rules: those
/// held, or all where a name has no positions. The book is looked through once for all rules.
#[must_use]
pub fn exercised(
    rules: &[AlertRule],
    snapshot: &Snapshot,
    valued: &ValuedBook,
    roots: &RootTable,
) -> HashMap<Symbol, f64> {
    let names = rules.iter().filter_map(|rule| match rule.subject {
        AlertSubject::Exercise(name) => snapshot.chain(name),
        _ => None,
    });
    let mut held: HashMap<Symbol, Option<f64>> = names.map(|chain| (chain.underlying, None)).collect();
    if held.is_empty() {
        return HashMap::new();
    }
    let is_right = |line: &PositionLine| {
        let is_contract = matches!(line.instrument, Instrument::Contract(_)) && line.quantity > 0.0;
        let state = |place: &ListedPlace| exercise::column(&place.chain, Col::ExerciseState)[place.row];
        is_contract && find(line.instrument, snapshot, roots).is_ok_and(|place| state(&place) > 0.0)
    };
    for of in &valued.positions {
        if let (Some(count), Some(line)) = (held.get_mut(&of.underlying), valued.lines.get(of.line as usize)) {
            *count.get_or_insert(0.0) += f64::from(u8::from(is_right(line)));
        }
    }
    let of_chain = |name: Symbol| {
        let states = snapshot.chain(name).map_or(&[][..], |chain| exercise::column(chain, Col::ExerciseState));
        states.iter().filter(|state| **state > 0.0).count() as f64
    };
    held.into_iter().map(|(name, count)| (name, count.unwrap_or_else(|| of_chain(name)))).collect()
}

fn subject(words: &[&str]) -> Result<AlertSubject, String> {
    let (&first, rest) = words.split_first().ok_or("nothing to compare")?;
    if first == "positions" {
        return positions(rest);
    }
    if let Some(key) = ContractKey::parse_osi(first) {
        let name = rest.first().copied().unwrap_or("svc_theo");
        let col = Col::ALL.iter().copied().find(|col| col.name() == name);
        return match (col, rest.len() <= 1) {
            (Some(col), true) => Ok(AlertSubject::Contract(key, col)),
            _ => Err(format!("{name}: not a column of /l1/greeks")),
        };
    }
    // "KO borrow" and "borrow KO" mean the same
    let (name, what, rest) = match (first, rest) {
        ("borrow" | "spot" | "atm_vol", [name, rest @ ..]) => (*name, first, rest),
        (name, [what, rest @ ..]) => (name, *what, rest),
        (_, []) => {
            return Err("expected a number of the name: spot, atm_vol, borrow or one of /l1/metrics".to_owned());
        }
    };
    let symbol = Symbol::parse_underlying(name).ok_or_else(|| format!("{name}: not a symbol"))?;
    let days = match rest {
        [] => TENOR,
        [tenor] => tenor_days(tenor).ok_or_else(|| format!("{tenor}: not a tenor such as 30d"))?,
        [_, more, ..] => return Err(format!("{more}: not expected")),
    };
    match what {
        "spot" if rest.is_empty() => Ok(AlertSubject::Spot(symbol)),
        "atm_vol" => Ok(AlertSubject::AtmVol(symbol, days)),
        "borrow" => Ok(AlertSubject::Borrow(symbol, days)),
        _ => match place_of(what).filter(|place| NAME[*place].is_number) {
            Some(place) if rest.is_empty() => Ok(AlertSubject::Metric(symbol, place)),
            _ => Err(format!("{what}: expected spot, atm_vol, borrow or a number of /l1/metrics")),
        },
    }
}

fn positions(words: &[&str]) -> Result<AlertSubject, String> {
    let (&first, rest) = words.split_first().ok_or("positions: no number is named")?;
    let number: fn(&PositionNumbers) -> f64 = match first {
        "value" => |of| of.value,
        "profit" => |of| of.profit,
        "session_profit" => |of| of.session_profit,
        "delta" | "dollar_delta" => |of| of.dollar_delta,
        "gamma" | "gamma_1pct" => |of| of.gamma_1pct,
        "vega" => |of| of.vega,
        "theta" => |of| of.theta,
        "decay" => |of| of.decay,
        "rho" => |of| of.rho,
        "epsilon" => |of| of.epsilon,
        "beta_delta" => |of| of.beta_delta,
        other => return Err(format!("{other}: not a column of /l1/positions")),
    };
    match rest {
        [] => Ok(AlertSubject::Positions { number, account: None, name: None }),
        ["account", account] => {
            Ok(AlertSubject::Positions { number, account: Some((*account).to_owned()), name: None })
        }
        ["underlying", name] => {
            let name = Symbol::parse_underlying(name).ok_or_else(|| format!("{name}: not a symbol"))?;
            Ok(AlertSubject::Positions { number, account: None, name: Some(name) })
        }
        [word, ..] => Err(format!("{word}: expected account NAME or underlying NAME")),
    }
}

fn number(text: &str) -> Option<f64> {
    text.strip_suffix('%').unwrap_or(text).parse().ok().filter(|x: &f64| x.is_finite())
}

fn tenor_days(text: &str) -> Option<f64> {
    text.strip_suffix('d')?.parse().ok().filter(|days| (1.0..=5000.0).contains(days))
}

fn duration(text: &str) -> Option<Duration> {
    let (n, seconds) = match text.strip_suffix('s') {
        Some(n) => (n, 1),
        None => match text.strip_suffix('m') {
            Some(n) => (n, 60),
            None => (text.strip_suffix('h')?, 3600),
        },
    };
    let seconds = n.parse::<u64>().ok()?.checked_mul(seconds)?;
    (seconds <= 86_400 * 7).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::store::columns::Columns;
    use engine::store::firm_quotes::FirmQuotes;
    use jiff::Timestamp;
    use proptest::prelude::*;

    #[test]
    fn a_rule_is_one_comparison() {
        let text = "# rules\nSPY atm_vol 30d > 20 hysteresis 1 quiet 15m\n\npositions delta abs > 100000 # all\n\
                    borrow KO > 3%\nKO borrow 60d > 3\nSPY spot <= 700\nSPY261218C00700000 delta > 0.6\n\
                    positions vega account ira < -5000\npositions theta underlying KO < -1\n";
        let (rules, complaints) = parse_rules(text);
        assert_eq!(complaints, Vec::<String>::new());
        assert_eq!(rules.len(), 8);
        assert_eq!((rules[0].line, rules[0].quiet), (2, Duration::from_mins(15)));
        assert_eq!(
            [19.0, 19.5, 20.5].map(|vol| rules[0].state(vol)),
            [AlertState::Off, AlertState::Same, AlertState::On]
        );
        assert_eq!(rules[0].state(f64::NAN), AlertState::Same);
        assert_eq!((rules[1].state(-100_001.0), rules[1].state(100.0)), (AlertState::On, AlertState::Off));
        assert_eq!((rules[4].state(699.0), rules[4].state(701.0)), (AlertState::On, AlertState::Off));
        let roots = RootTable::embedded();
        let names = rules
            .iter()
            .map(|rule| rule.name(&roots).map_or("", |name| if name.as_str() == "KO" { "KO" } else { "SPY" }));
        assert_eq!(names.collect::<Vec<_>>(), ["SPY", "", "KO", "KO", "SPY", "SPY", "", "KO"]);
    }

    #[test]
    fn a_number_of_metrics_is_decimal_whether_or_not_the_rule_says_percent() {
        let (rules, complaints) = parse_rules(
            "NVDA event_move > 7% hysteresis 1%\nNVDA event_move > 0.07 hysteresis 0.01\nKO rr25_30d < -0.05",
        );
        assert_eq!(complaints, Vec::<String>::new());
        for rule in &rules[..2] {
            let states = [0.0701, 0.065, 0.0599].map(|x| rule.state(x));
            assert_eq!(states, [AlertState::On, AlertState::Same, AlertState::Off], "{}", rule.text);
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        for (bad, why) in [
            ("SPY spot 700", "no comparison"),
            ("exercise K?", "K?: not a symbol"),
            ("exercise KO > 1", ">: expected hysteresis or quiet"),
            ("SPY spot > x", "no number"),
            ("SPY gamma > 1", "gamma: expected spot"),
            ("SPY event_state > 1", "event_state: expected spot"),
            ("SPY iv30d 60d > 1", "iv30d: expected spot"),
            ("SPY atm_vol 30 > 1", "30: not a tenor"),
            ("positions charm > 1", "charm: not a column"),
            ("positions vega of ira > 1", "of: expected account"),
            ("SPY spot > 1 hysteresis", "hysteresis: no value"),
            ("SPY spot > 1 quiet x", "quiet: not a time"),
            ("> 1", "nothing to compare"),
        ] {
            let (rules, complaints) = parse_rules(&format!("KO spot > 1\n{bad}"));
            assert_eq!(rules.len(), 1);
            assert!(complaints[0].starts_with(&format!("line 2: {why}")), "{bad}: {complaints:?}");
        }
    }

    #[test]
    fn a_name_has_one_term_structure_for_all_rules() {
        let chain = Chain {
            underlying: Symbol::parse("KO").unwrap(),
            spot: 70.0,
            implied_spot: f64::NAN,
            implied_spot_error: f64::NAN,
            spot_off: false,
            doubt: None,
            firm: FirmQuotes::default(),
            uncomputed: None,
            valued_at: Timestamp::UNIX_EPOCH,
            preliminary: false,
            slices: Default::default(),
            strike_milli: Vec::new(),
            right: Vec::new(),
            dropped: Vec::new(),
            columns: Columns::missing(0),
            quotes: None,
            evidence: None,
        };
        let snapshot = Snapshot::new(1, vec![chain.into()], Vec::new());
        let (rules, _) = parse_rules("KO atm_vol > 1\nKO atm_vol 60d > 1\nKO borrow > 1");
        let terms = NameTerms::default();
        let compared = Compared {
            snapshot: &snapshot,
            valued: &ValuedBook::default(),
            exercised: &HashMap::new(),
            closes: &Closes::default(),
            rows: &NameRows::default(),
            terms: &terms,
            roots: &RootTable::embedded(),
            calendar: &Calendar::embedded(),
        };
        let made = |rule: &AlertRule| {
            let _ = rule.value(&compared);
            terms.0.borrow().values().map(Rc::as_ptr).collect::<Vec<_>>()
        };
        let made: Vec<_> = rules.iter().map(made).collect();
        assert!(made[0].len() == 1 && made.iter().all(|of| *of == made[0]), "{made:?}");
    }

    #[test]
    fn what_is_compared_and_not_there_is_named() {
        let (snapshot, book, roots) = (Snapshot::empty(Vec::new()), ValuedBook::default(), RootTable::embedded());
        for (rule, why) in [
            ("VIX spot > 20", "VIX is not served"),
            ("KO borrow > 3%", "KO is not served"),
            ("KO iv30d > 30%", "KO is not served"),
            ("exercise KO quiet 1h", "KO is not served"),
            ("SPY261218C00700000 delta > 0.6", "the contract is not listed"),
            ("positions vega > 0", "no positions"),
            ("positions vega account nobody > 0", "no positions nobody"),
            ("positions vega underlying KO > 0", "no positions KO"),
        ] {
            let (rules, _) = parse_rules(rule);
            assert_eq!(rules[0].unserved(&snapshot, &book, &roots).as_deref(), Some(why), "{rule}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[A-Za-z0-9 <>=.%#é\n-]{0,80}") {
            let _ = parse_rules(&text);
        }
    }
}
