//! Writes golden/frozen.csv.gz: reference values of contracts with dividends, or with two boundaries, as of the
//! build that runs. Another way to compute them is held against that file, whatever becomes of this one.
//!
//! ```text
//! cargo run --release -p greeksd-testkit --example freeze -- ROWS_IN_A_HUNDRED COMMIT > golden/frozen.csv.gz
//! ```
//!
//! The commit stands in the head of the file.
//! Contracts that are never worth exercising early are left out, and so are those without a value.
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a program for one file")]

use flate2::{Compression, GzBuilder};
use kernel::black76::{Horizon, european};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use std::fmt::Write as _;
use std::io::{Write as _, stdout};
use std::sync::atomic::{AtomicUsize, Ordering};
use testkit::chain::accurate;
use testkit::golden::{FROZEN, rows};
use testkit::random::Random;

/// Rows of each group, and the seed of its draws.
const GROUPS: [(&str, u64, usize); 12] = [
    ("market", 1, 700),
    ("market", 2, 700),
    ("market", 3, 700),
    ("boundary", 4, 1200),
    ("exdate", 5, 1200),
    ("borrow", 6, 600),
    ("negative", 7, 600),
    ("below", 8, 500),
    ("weekly", 9, 300),
    ("special", 10, 600),
    ("expiry", 11, 300),
    ("double", 12, 150),
];
/// Files of golden/ whose contracts are valued too.
const FILES: [&str; 4] = ["american_div.csv", "corners.csv", "interest.csv", "unresolved.csv"];
/// A premium below this part of the strike is none.
const NOTHING: f64 = 1e-9;
const DAY: f64 = 1.0 / 365.0;

/// A contract that is valued.
struct Drawn {
    group: &'static str,
    right: Right,
    s: f64,
    k: f64,
    sigma: f64,
    terms: Terms,
}

/// `x` to so many digits after the point.
fn rounded(x: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits);
    (x * unit).round() / unit
}

/// Borrow as of a market: in line with the rate, a little off, hard to borrow.
fn borrow(draws: &mut Random) -> f64 {
    match draws.below(10) {
        0 | 1 => 0.0,
        2..=5 => draws.between(-0.005, 0.005),
        6 => draws.between(-0.02, 0.0),
        7 | 8 => draws.between(0.0, 0.02),
        _ => 0.02 + 0.3 * draws.unit().powi(3),
    }
}

/// One contract of a group; `None`: no market lists it.
fn drawn(draws: &mut Random, group: &'static str) -> Option<Drawn> {
    let s = rounded(4.0 * 300f64.powf(draws.unit()), 2);
    let [low, high] = draws.pick(&[[1.0, 60.0], [60.0, 365.0], [365.0, 1095.0]]);
    let t = rounded(draws.between(low, if group == "weekly" { high.min(365.0) } else { high }) * DAY, 6);
    let r = if draws.chance(0.7) { draws.between(0.03, 0.055) } else { draws.between(0.001, 0.08) };
    let (r, b) = match group {
        "borrow" => (r, draws.pick(&[0.03, 0.3]) * draws.unit()),
        "negative" => (r, -draws.pick(&[0.003, 0.03, 0.1]) * draws.unit()),
        "below" => (-0.03 * draws.unit(), draws.pick(&[0.01, 0.06]) * draws.between(-1.0, 1.0)),
        "double" => {
            let (r, apart) = (-draws.between(0.003, 0.04), draws.between(0.004, 0.03));
            if draws.chance(0.5) { (r, r - apart) } else { (r - apart, r) }
        }
        _ => (r, borrow(draws)),
    };
    let sigma = rounded((0.3 * 4f64.powf(draws.between(-1.0, 1.0) + draws.between(-0.4, 0.4))).clamp(0.04, 2.0), 4);
    let (period, [low, high]) = match group {
        "weekly" => (7.0 * DAY, [0.1, 0.5]),
        _ => {
            draws.pick(&[(0.25, [0.005, 0.06]), (0.25, [0.005, 0.06]), (1.0 / 12.0, [0.03, 0.12]), (0.5, [0.01, 0.05])])
        }
    };
    let amount = rounded(s * draws.between(low, high) * period, 3).max(0.01);
    let first = match group {
        "exdate" => draws.between(0.03, 2.0) * DAY,
        "expiry" => t - period * (t / period).floor(),
        _ => period * draws.between(0.002, 1.0),
    };
    let date = |i: u32| Dividend { t: rounded(first + period * f64::from(i), 6), amount };
    let mut divs: Vec<Dividend> = match group {
        "double" => Vec::new(),
        "expiry" => (0..).map(date).take_while(|d| d.t < t - 1e-5).chain([Dividend { t, amount }]).collect(),
        _ => (0..).map(date).take_while(|d| d.t < t).collect(),
    };
    if group == "special" {
        let t = rounded(t * draws.between(0.02, 0.98), 6);
        divs.push(Dividend { t, amount: rounded(s * draws.between(0.03, 0.25), 2) });
        divs.sort_by(|a, b| a.t.total_cmp(&b.t));
    }
    let terms = Terms { t, r: rounded(r, 5), b: rounded(b, 5), divs };
    if terms.a(0.0) > 0.6 * s || (group != "double" && terms.divs.is_empty()) {
        return None;
    }
    let away = 1.3 * (draws.unit() + draws.unit() + draws.unit() + draws.unit() - 2.0) * 3f64.sqrt();
    let k = terms.fwd(s) * (away * sigma * t.sqrt()).exp();
    let k = rounded(k.clamp(0.3 * s, 3.0 * s), 2);
    let right = if draws.chance(0.5) { Right::Call } else { Right::Put };
    let s = if group == "boundary" { beside(draws, right, k, sigma, &terms)? } else { s };
    (k > terms.a(0.0)).then_some(Drawn { group, right, s, k, sigma, terms })
}

/// A spot within half a standard deviation of the boundary of now; `None`: there is none.
fn beside(draws: &mut Random, right: Right, k: f64, sigma: f64, terms: &Terms) -> Option<f64> {
    let boundary: f64 = accurate(Style::American, right, terms, k, sigma).at(terms, k).boundary(k, sigma);
    let away = 0.5 * 0.02f64.powf(draws.unit());
    let s = rounded(boundary * (-right.phi() * away * sigma * terms.t.sqrt()).exp(), 4);
    (s > 0.2 * k && s < 5.0 * k && terms.a(0.0) < 0.7 * s).then_some(s)
}

/// The row of a contract; `None`: it is never worth exercising early, or has no value.
fn row(id: &str, of: &Drawn) -> Option<String> {
    let Drawn { group, right, s, k, sigma, ref terms } = *of;
    let pricer = accurate(Style::American, right, terms, k, sigma);
    let at = pricer.at(terms, s);
    let greeks = at.greeks::<f64>(k, sigma);
    let held = european(right.phi(), &Horizon::from(terms), s - terms.a(0.0), k, sigma).v;
    if !greeks.value.is_finite() || greeks.value - held < NOTHING * k {
        return None;
    }
    let divs: Vec<String> = terms.divs.iter().map(|d| format!("{}:{}", d.t, d.amount)).collect();
    let now = u8::from(greeks.delta.abs() >= 1.0 && greeks.value <= right.phi() * (s - k));
    let right = if right == Right::Call { "call" } else { "put" };
    let boundary: f64 = at.boundary(k, sigma);
    let Terms { t, r, b, .. } = *terms;
    let mut line = format!("{id},{group},american,{right},{s},{k},{t},{r},{b},{sigma},{},{now},", divs.join(";"));
    if boundary.is_finite() {
        write!(line, "{boundary:.8e}").unwrap();
    }
    for (greek, digits) in FROZEN {
        write!(line, ",{:.*e}", digits, greeks.get(greek) / greek.unit().divisor()).unwrap();
    }
    Some(line)
}

fn main() {
    let mut args = std::env::args().skip(1);
    let share: usize = args.next().expect("rows in a hundred").parse().unwrap();
    let commit = format!("greeksd {}", args.next().expect("a commit"));
    let mut contracts: Vec<(String, Drawn)> = Vec::new();
    for file in FILES {
        for row in rows(file).into_iter().take(rows(file).len() * share / 100) {
            let (sigma, terms) = (row.vol(), row.terms.clone());
            let id = format!("{}{}", file.chars().next().unwrap(), row.id);
            contracts.push((id, Drawn { group: "golden", right: row.right, s: row.s, k: row.k, sigma, terms }));
        }
    }
    for (group, seed, n) in GROUPS {
        let mut draws = Random::new(seed);
        let found = std::iter::repeat_with(|| drawn(&mut draws, group)).flatten().take(n * share / 100);
        contracts.extend(found.enumerate().map(|(i, drawn)| (format!("{}{seed}-{i}", &group[..2]), drawn)));
    }
    eprintln!("{} contracts", contracts.len());
    let next = AtomicUsize::new(0);
    let mut lines: Vec<(usize, String)> = std::thread::scope(|scope| {
        let work = || {
            let mut lines = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some((id, drawn)) = contracts.get(i) else { return lines };
                lines.extend(row(id, drawn).map(|line| (i, line)));
            }
        };
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    lines.sort_by_key(|(i, _)| *i);
    eprintln!("{} rows", lines.len());
    let mut out = GzBuilder::new().comment(commit).write(stdout().lock(), Compression::best());
    let names: Vec<&str> = FROZEN.iter().map(|(greek, _)| greek.name()).collect();
    writeln!(out, "id,group,style,right,s,k,t_years,r,b,sigma,divs,exercise_now,boundary,{}", names.join(",")).unwrap();
    for (_, line) in lines {
        writeln!(out, "{line}").unwrap();
    }
    drop(out.finish().unwrap());
}
