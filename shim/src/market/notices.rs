//! Log lines about rates and dividends, each written once: source and warnings of the rates, and names that no source
//! of dividends covers. Never: a computation.

use crate::status::RateFacts;
use engine::store::chain::{Chain, Uncomputed};
use kernel::contract::{Style, Symbol};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Time after the start before missing dividends and rates are logged: a feed may deliver them after the first values.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of names in a line.
const NAMES_MOST: usize = 5;

/// The last logged facts.
#[derive(Debug, Default)]
pub(super) struct LoggedFacts {
    source: Option<&'static str>,
    warning: Option<String>,
    dividends: bool,
}

impl LoggedFacts {
    /// Returns the lines to log now, each with true if it is a warning. `waits`: the feed may deliver more; `elapsed`:
    /// time since it was opened.
    pub(super) fn lines(
        &mut self,
        rates: Option<&RateFacts>,
        chains: &BTreeMap<Symbol, Arc<Chain>>,
        waits: bool,
        elapsed: Duration,
    ) -> Vec<(bool, String)> {
        let mut lines = Vec::new();
        let is_patient = waits && elapsed < PATIENCE;
        if let Some(rates) = rates {
            if self.source != Some(rates.source) {
                self.source = Some(rates.source);
                let as_of = rates.as_of.as_ref().map_or_else(String::new, |as_of| format!(" of {as_of}"));
                lines.push((false, format!("rates: {}{as_of}", rates.source)));
            }
            // the rates watch logs contradictions of a given curve
            let warning = rates.warning.as_ref().filter(|_| !["user", "treasury"].contains(&rates.source));
            if self.warning.as_ref() != warning && !(is_patient && warning.is_some()) {
                self.warning = warning.cloned();
                lines.extend(warning.map(|warning| (true, format!("rates: {warning}"))));
            }
        }
        if !self.dividends && !is_patient {
            let unknown: Vec<&str> =
                chains.values().filter(|chain| has_unknown_dividends(chain)).map(|c| c.underlying.as_str()).collect();
            if !unknown.is_empty() {
                self.dividends = true;
                lines.push((true, unknown_dividends(&unknown)));
            }
        }
        lines
    }
}

/// True if a name has American options and no source of dividends covers it.
fn has_unknown_dividends(chain: &Chain) -> bool {
    let is_american = chain.slices.iter().any(|slice| slice.style == Style::American && !slice.adjusted);
    is_american && chain.evidence.as_ref().is_some_and(|evidence| !evidence.dividends_known)
}

fn unknown_dividends(names: &[&str]) -> String {
    let shown = &names[..names.len().min(NAMES_MOST)];
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more names"),
    };
    let (spaced, listed) = (shown.join(", "), shown.join(","));
    format!(
        "no source of dividends covers {spaced}{more}: values assume none; add rows to dividends.csv (amount 0: it pays \
         none), or --feed nasdaq:{listed}"
    )
}

/// Remedy for a name that cannot be computed, with a leading colon; empty if only other quotes help.
pub(super) fn cure(why: Uncomputed, name: Symbol) -> String {
    match why {
        Uncomputed::NoSpot => format!(
            ": no price of the underlying, published or implied; push {{\"symbol\":\"{name}\",\"price\":...,\
             \"time\":...}}, add und_price to the rows of a folder, or add a feed that has the price"
        ),
        Uncomputed::StrikeScale => ": strikes are in other units than the spot, as thousandths".to_owned(),
        Uncomputed::PriceScale => ": prices are in other units than strikes, as those of a contract".to_owned(),
        Uncomputed::NoUsableQuote | Uncomputed::ContradictoryPairs | Uncomputed::Failed => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(source: &'static str, warning: Option<&str>) -> RateFacts {
        RateFacts {
            source,
            as_of: Some("2026-11-20".to_owned()),
            age_days: Some(0),
            nodes: Vec::new(),
            warning: warning.map(str::to_owned),
        }
    }

    #[test]
    fn a_source_and_a_warning_are_said_once() {
        let (mut told, none, late) = (LoggedFacts::default(), BTreeMap::new(), Duration::from_secs(60));
        let old = facts("built_in", Some("old"));
        assert_eq!(told.lines(None, &none, true, late), []);
        let first = told.lines(Some(&old), &none, true, Duration::ZERO);
        assert_eq!(first, [(false, "rates: built_in of 2026-11-20".to_owned())], "an index may still come");
        assert_eq!(told.lines(Some(&old), &none, true, late), [(true, "rates: old".to_owned())]);
        assert_eq!(told.lines(Some(&old), &none, true, late), []);
        let implied = told.lines(Some(&facts("implied", None)), &none, true, late);
        assert_eq!(implied, [(false, "rates: implied of 2026-11-20".to_owned())]);
        let again = told.lines(Some(&old), &none, false, Duration::ZERO);
        assert_eq!(again.len(), 2, "a folder is not waited for: {again:?}");
    }

    #[test]
    fn a_name_without_a_price_is_told_what_to_push() {
        let acme = Symbol::parse("ACME").unwrap();
        assert!(cure(Uncomputed::NoSpot, acme).contains(r#"push {"symbol":"ACME","price":...,"time":...}"#));
        assert_eq!(cure(Uncomputed::NoUsableQuote, acme), "");
    }

    #[test]
    fn the_line_of_dividends_names_what_to_type() {
        assert!(unknown_dividends(&["KO"]).contains("covers KO: values assume none"));
        let many = unknown_dividends(&["A", "B", "C", "D", "E", "F", "G"]);
        assert!(many.contains("A, B, C, D, E and 2 more names") && many.ends_with("--feed nasdaq:A,B,C,D,E"), "{many}");
    }
}
