//! One line on the assumptions that quotes of a name contradict. Never: the decision whether they do.

use crate::store::chain::Chain;
use crate::store::doubt::Doubt;
use std::fmt::Write;

/// The assumption of a chain that quotes contradict with its substitute, and a note if most quotes still do not hold
/// their value; `None`: neither applies.
///
/// # Domain   any chain, one that was read back included: without evidence no dividend is named
#[must_use]
pub fn doubts_of(chain: &Chain) -> Option<String> {
    let mut line = String::new();
    // writing to a string does not fail
    let _ = match chain.doubt {
        None => Ok(()),
        Some(Doubt::Spot) => write!(
            line,
            "calls and puts contradict the published spot {:.2}: values use {:.2}, which they imply",
            chain.spot, chain.implied_spot
        ),
        Some(Doubt::Borrow) => {
            let rates = chain.slices.iter().map(|slice| slice.borr_rate).filter(|b| b.is_finite());
            let most = rates.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
            write!(
                line,
                "calls and puts contradict a usual borrow rate: values use up to {:.0} % a year, which they imply",
                100.0 * most
            )
        }
        Some(Doubt::Dividends) => {
            let all = chain.evidence.as_ref().map_or(&[][..], |evidence| &evidence.dividends);
            let mut doubted = all.iter().filter(|d| (d.amount - d.given).abs() > 0.0);
            match (doubted.next(), doubted.count()) {
                (None, _) => write!(line, "calls and puts contradict the dividends"),
                (Some(first), more) => write!(
                    line,
                    "calls and puts contradict the dividend of {} on {}{}: values count {:.2}, which they pay for",
                    first.given,
                    first.ex_date,
                    if more == 0 { String::new() } else { format!(" and {more} more") },
                    first.amount
                ),
            }
        }
    };
    if chain.firm.are_contradicted() {
        let comma = if line.is_empty() { "" } else { "; " };
        let _ = write!(
            line,
            "{comma}{} of {} quotes with two sides do not hold the value of their contract",
            chain.firm.outside, chain.firm.firm
        );
    }
    (!line.is_empty()).then_some(line)
}
