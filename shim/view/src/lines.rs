//! The lines of a page by strike from top to bottom: strikes, and marks of two prices between them. Never: a style.

/// A line of a page by strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainLine {
    /// The row with this index.
    Row(usize),
    /// Mark of the spot, the other price, or both.
    Mark {
        /// True for the spot.
        spot: bool,
        /// True for the other price: the forward of a chain, the flip of exposures.
        other: bool,
    },
}

/// The lines of ascending strikes.
pub(crate) fn chain_lines(strikes: &[f64], spot: f64, other: f64) -> Vec<ChainLine> {
    let mut lines = Vec::with_capacity(strikes.len() + 2);
    let place = |price: f64| price.is_finite().then(|| strikes.partition_point(|strike| *strike < price));
    let (spot_place, other_place) = (place(spot), place(other));
    // both share a mark unless a strike lies between them
    for at in 0..=strikes.len() {
        let mark = (spot_place == Some(at), other_place == Some(at));
        if mark.0 || mark.1 {
            lines.push(ChainLine::Mark { spot: mark.0, other: mark.1 });
        }
        if at < strikes.len() {
            lines.push(ChainLine::Row(at));
        }
    }
    lines
}

/// The first line to show so that `line` is visible with a margin.
pub(crate) fn scrolled(top: usize, line: usize, shown: usize, all: usize) -> usize {
    let margin = (shown / 6).min(3);
    let least = (line + margin + 1).saturating_sub(shown);
    let most = line.saturating_sub(margin);
    top.clamp(least.min(most), most).min(all.saturating_sub(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spot_and_forward_stand_between_the_strikes_that_are_around_them() {
        use ChainLine::{Mark, Row};
        let both = |spot, other| Mark { spot, other };
        let strikes = [90.0, 100.0, 110.0];
        for (spot, fwd, wanted) in [
            (101.0, 102.0, vec![Row(0), Row(1), both(true, true), Row(2)]),
            (95.0, 105.0, vec![Row(0), both(true, false), Row(1), both(false, true), Row(2)]),
            (1.0, f64::NAN, vec![both(true, false), Row(0), Row(1), Row(2)]),
            (f64::NAN, 999.0, vec![Row(0), Row(1), Row(2), both(false, true)]),
        ] {
            assert_eq!(chain_lines(&strikes, spot, fwd), wanted, "{spot} {fwd}");
        }
    }

    #[test]
    fn the_line_that_counts_is_always_seen() {
        for all in 0..40 {
            for shown in 1..30 {
                for line in 0..all {
                    for top in 0..all {
                        let top = scrolled(top, line, shown, all);
                        assert!((top..top + shown).contains(&line), "{all} {shown} {line} {top}");
                        assert!(top + shown <= all.max(shown), "{all} {shown} {line} {top}");
                    }
                }
            }
        }
        assert_eq!(scrolled(5, 10, 20, 100), 5, "what can be seen does not move");
    }
}
