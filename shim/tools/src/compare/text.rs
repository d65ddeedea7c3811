//! Text of a comparison, for people. Never: a number that the report does not have.

use super::report::{NameReport, Report};
use api::rows::number::{self, Print};
use std::fmt::Write;

/// The text of a report.
pub(super) fn text(of: &Report) -> String {
    let mut out = String::new();
    // writing to a string does not fail
    let _ = write_all(of, &mut out);
    out
}

fn write_all(of: &Report, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{} ({}): {} names, {} rows refused", of.input, of.layout, of.names.len(), of.refused)?;
    of.names.iter().try_for_each(|name| write_name(name, out))
}

fn write_name(of: &NameReport, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n{}: {} contracts as of {}", of.underlying, of.contracts, of.valued_at)?;
    let inside = &of.inside;
    if inside.quoted > 0 {
        let part = |n: usize| format!("{n} ({:.1} %)", 100.0 * n as f64 / inside.quoted as f64);
        let neither = (inside.quoted + inside.both).saturating_sub(inside.ours + inside.vendor);
        writeln!(out, "inside bid and ask, of {} contracts with both sides:", inside.quoted)?;
        writeln!(
            out,
            "  our values {}, values at the vendor's volatilities {}",
            part(inside.ours),
            part(inside.vendor)
        )?;
        writeln!(
            out,
            "  ours alone {}, the vendor's alone {}, both {}, neither {}",
            inside.ours - inside.both,
            inside.vendor - inside.both,
            inside.both,
            neither
        )?;
    }
    let conventions = &of.conventions;
    let theta = conventions.theta.map(|theta| format!("theta is per {}", theta.replace('_', " ")));
    let vega = conventions.vega_times.map(|times| format!("vega is {}", per_percent(times)));
    let rho = conventions.rho_times.map(|times| format!("rho is {}", per_percent(times)));
    let days = conventions.rho_days.filter(|days| *days != "to_expiry");
    let days = days.map(|days| format!("rho counts the days {}", days.replace('_', " ")));
    let calls = conventions.put_numbers.filter(|of| *of == "calls");
    let calls = calls.map(|_| "puts show theta, vega and rho of the call at their strike".to_owned());
    let conventions: Vec<String> = [theta, vega, rho, days, calls].into_iter().flatten().collect();
    if !conventions.is_empty() {
        writeln!(out, "the vendor's {}", conventions.join(", its "))?;
    }
    if of.vendor_vols != "printed" {
        writeln!(
            out,
            "the vendor's Greeks do not match its printed volatilities; they are compared at the volatilities that they imply"
        )?;
    }
    writeln!(
        out,
        "{:<12} {:>9} {:>12} {:>12} {:>12} {:>12}",
        "vendor-ours", "contracts", "median", "90 %", "most", "typical"
    )?;
    for row in &of.differences {
        writeln!(
            out,
            "{:<12} {:>9} {:>12.6} {:>12.6} {:>12.6} {:>12.6}",
            row.greek, row.contracts, row.median, row.p90, row.most, row.typical
        )?;
    }
    let reasons: Vec<String> = of.reasons.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    writeln!(out, "expiries by main reason: {}", reasons.join(", "))?;
    writeln!(
        out,
        "{:<8} {:<10} {:>7} {:>4}  {:>8} {:>8} {:>8} {:>8}  reasons (of the squared difference)",
        "root", "expiry", "days", "n", "served", "defined", "at vol", "digits"
    )?;
    for row in &of.expiries {
        let reasons = row.reasons.iter().map(|reason| format!("{} ({:.0} %)", reason.text, 100.0 * reason.explained));
        writeln!(
            out,
            "{:<8} {:<10} {:>7.1} {:>4}  {:>6.3} % {:>6.3} % {:>6.3} % {:>6.3} %  {}",
            row.root,
            row.expiry,
            row.days,
            row.contracts,
            100.0 * row.rms,
            100.0 * row.rms_defined,
            100.0 * row.rms_at_vendor_vol,
            100.0 * row.rms_of_digits,
            reasons.collect::<Vec<_>>().join("; ")
        )?;
    }
    writeln!(out, "largest differences")?;
    for row in &of.worst {
        writeln!(
            out,
            "{:<12} {:<21} ours {:>12} vendor {:>12} difference {:>+12.6}  {}",
            row.greek,
            row.osym,
            number::text(row.ours, Print::Fixed(6)),
            number::text(row.vendor, Print::Fixed(6)),
            row.difference,
            row.reason
        )?;
    }
    Ok(())
}

/// Unit of a Greek that is a multiple of the Greek per 1 %.
fn per_percent(times: f64) -> String {
    match times {
        1.0 => "per 1 %".to_owned(),
        100.0 => "per 1.00".to_owned(),
        0.01 => "per basis point".to_owned(),
        times => format!("{times} times that per 1 %"),
    }
}
