//! An explanation as text. Never: a number that the document does not have.

use super::document::{CurvePart, ExplainDocument, MaybeNumber, NamedNumbers, StrikePart};
use api::rows::number::{self, Print};
use std::fmt::Write;

/// Number of strikes shown among those that imply the forward: those with the largest weights.
const VOTES_SHOWN: usize = 8;
/// The Greeks, in the order in which they are read.
const ROWS: [&[&str]; 4] = [
    &["delta", "gamma", "vega", "theta", "rho"],
    &["vanna", "volga", "charm", "veta", "decay"],
    &["speed", "zomma", "color", "ultima", "vera"],
    &["lambda", "epsilon", "dual_delta", "dual_gamma", "d1"],
];

/// The text of an explanation.
#[must_use]
pub fn text(of: &ExplainDocument) -> String {
    let mut out = String::new();
    // writing to a string does not fail
    let _ = write_all(of, &mut out);
    out
}

fn write_all(of: &ExplainDocument, out: &mut String) -> std::fmt::Result {
    let (contract, market) = (&of.contract, &of.market);
    writeln!(
        out,
        "{} {} {} {}   {}   {}, settles {} ({})",
        contract.underlying,
        contract.expiry,
        contract.strike,
        contract.right,
        contract.osym.trim(),
        contract.ex_style,
        contract.settle,
        contract.settles_at
    )?;
    writeln!(out, "as of {}, feed {}, snapshot {}", market.valued_at, market.feed, market.snapshot)?;
    for warning in of.warnings.iter().filter(|warning| warning.name != "rough") {
        writeln!(out, "  ! {}: {}", warning.name, warning.meaning)?;
    }
    if let Some(why) = &market.uncomputed {
        writeln!(out, "  ! the name has no Greeks: {why}")?;
    }
    write_market(of, out)?;
    write_forward(of, out)?;
    write_volatility(of, out)?;
    write_values(of, out)
}

fn write_market(of: &ExplainDocument, out: &mut String) -> std::fmt::Result {
    let (quote, spot, carry) = (&of.quote, &of.spot, &of.carry);
    writeln!(out)?;
    let prices = match quote.shown {
        true => format!("{} / {}, mid {}", fixed(quote.bid, 4), fixed(quote.ask, 4), fixed(quote.mid, 4)),
        false => "prices not served: start the daemon with --show-quotes".to_owned(),
    };
    let age = quote.age_s.map_or_else(|| "age unknown".to_owned(), |age| format!("{age:.1} s old"));
    let use_of = quote.dropped.as_ref().map_or_else(|| "used".to_owned(), |why| format!("not used: {why}"));
    writeln!(out, "quote       {prices}; {age}; {use_of}")?;
    writeln!(
        out,
        "spot        {} published; implied by options {} ± {}; used {}",
        fixed(spot.published, 4),
        fixed(spot.implied, 4),
        fixed(spot.implied_error, 4),
        fixed(spot.used, 4)
    )?;
    writeln!(out, "time        {} days ({} years)", fixed(carry.days, 4), fixed(carry.t_years, 6))?;
    let overridden = if carry.overridden.is_empty() {
        String::new()
    } else {
        format!("; overrides: {}", carry.overridden.join(", "))
    };
    let source = match (&carry.rate_source, &carry.rate_as_of) {
        (Some(source), Some(as_of)) => format!(" ({source}, {as_of})"),
        (Some(source), None) => format!(" ({source})"),
        (None, _) => String::new(),
    };
    writeln!(
        out,
        "rate        {}{source}; borrow {} (from this expiry alone: {}){overridden}",
        percent(carry.rate),
        percent(carry.borrow),
        percent(carry.borrow_alone)
    )?;
    match carry.dividends.as_slice() {
        [] if carry.dividends_refused > 0 => {
            writeln!(out, "dividends   none counted: {} before settlement are too many", carry.dividends_refused)
        }
        [] if carry.dividends_known == Some(false) => {
            writeln!(out, "dividends   none: no source of dividends covers the name")
        }
        [] => writeln!(out, "dividends   none before settlement"),
        dividends => {
            let all = dividends.iter().map(|d| match d.given {
                Some(given) => format!("{} {:.4} (doubted; {given} {})", d.ex_date, d.amount, d.source),
                None => format!("{} {} {}", d.ex_date, d.amount, d.source),
            });
            let all = all.collect::<Vec<_>>().join("; ");
            writeln!(out, "dividends   {all} (present value {})", fixed(carry.dividends_value, 4))
        }
    }
}

fn write_forward(of: &ExplainDocument, out: &mut String) -> std::fmt::Result {
    let forward = &of.forward;
    writeln!(
        out,
        "forward     {} ± {}; from call/put pairs of this expiry: {} ± {}, {} agree",
        fixed(forward.price, 4),
        fixed(forward.error, 4),
        fixed(forward.alone, 4),
        fixed(forward.alone_error, 4),
        forward.pairs_agreeing
    )?;
    let mut used: Vec<&StrikePart> = forward.strikes.iter().filter(|strike| strike.used).collect();
    used.sort_by(|a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
    for strike in used.iter().take(VOTES_SHOWN) {
        writeln!(
            out,
            "  strike {:<9} implies {} ± {}  {:>5.1} % of the weight",
            strike.strike,
            fixed(strike.forward, 4),
            fixed(strike.error, 4),
            100.0 * strike.share.unwrap_or(0.0)
        )?;
    }
    let more = used.len().saturating_sub(VOTES_SHOWN);
    if more > 0 {
        writeln!(out, "  and {more} more strikes")?;
    }
    let mut unused: Vec<(&str, usize)> = Vec::new();
    for why in forward.strikes.iter().filter_map(|strike| strike.why.as_deref()) {
        match unused.iter_mut().find(|(word, _)| *word == why) {
            Some((_, n)) => *n += 1,
            None => unused.push((why, 1)),
        }
    }
    if !unused.is_empty() {
        let words: Vec<String> = unused.iter().map(|(why, n)| format!("{n} {why}")).collect();
        writeln!(out, "  not used: {}", words.join(", "))?;
    }
    Ok(())
}

fn write_volatility(of: &ExplainDocument, out: &mut String) -> std::fmt::Result {
    let vol = &of.volatility;
    writeln!(
        out,
        "volatility  bid {}, mid {}, ask {}; curve {} (confidence {}); previous session {}",
        percent(vol.at_bid),
        percent(vol.at_mid),
        percent(vol.at_ask),
        percent(vol.svc_vol),
        fixed(vol.confidence, 2),
        percent(vol.previous_session)
    )?;
    for place in &vol.strikes {
        write_curve(place, &format!("strike {}", place.strike), out)?;
    }
    for place in &vol.expiries {
        write_curve(place, &format!("{} {} {}", place.root, place.expiry, place.strike), out)?;
    }
    Ok(())
}

fn write_curve(place: &CurvePart, name: &str, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "  {name:<26} {:>8} {:>8} {:>8}  curve {:>8}{}",
        percent(place.at_bid),
        percent(place.at_mid),
        percent(place.at_ask),
        percent(place.svc_vol),
        place.dropped.as_ref().map_or_else(String::new, |why| format!("  {why}"))
    )
}

fn write_values(of: &ExplainDocument, out: &mut String) -> std::fmt::Result {
    let early = &of.early_exercise;
    let method = early.method.as_deref().unwrap_or("-");
    writeln!(out, "early ex.   {} ({method})", fixed(early.premium, 6))?;
    writeln!(out)?;
    let values = &of.values;
    let columns: [(&str, &NamedNumbers); 4] = [
        ("served", &values.served),
        ("european", &values.european),
        ("fast", &values.fast),
        ("reference", &values.reference),
    ];
    write!(out, "{:<12}", "")?;
    for (name, _) in columns {
        write!(out, " {name:>14}")?;
    }
    writeln!(out)?;
    for name in ["svc_theo"].iter().chain(ROWS.into_iter().flatten()) {
        write!(out, "{name:<12}")?;
        for (_, numbers) in columns {
            let number = numbers.get(*name).copied().flatten();
            write!(out, " {:>14}", number.map_or_else(|| "-".to_owned(), |x| number::text(x, Print::Fixed(8))))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn fixed(x: MaybeNumber, digits: u8) -> String {
    x.map_or_else(|| "-".to_owned(), |x| number::text(x, Print::Fixed(digits)))
}

fn percent(x: MaybeNumber) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{} %", number::text(100.0 * x, Print::Fixed(3))))
}
