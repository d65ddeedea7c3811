//! Values of American options by the early exercise premium, for golden/: an independent check of the engine.
//!
//! `american-reference greeks|spot|prices|volatilities [--threads N] < contracts.csv > values.csv`
//!
//! Input: CSV with a header; columns id, right, s, k, t_years, r, b, sigma, divs (t:amount;t:amount), in any order,
//! others ignored. `volatilities` reads price instead of sigma. Output: CSV, each value with its error; progress on
//! standard error.

mod greeks;
mod math;
mod solver;
mod volatility;

use greeks::{Greeks, NAMES, SPOT_NAMES};
use solver::{Contract, Unsupported};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A row of the input: column by name.
type Row<'a> = HashMap<&'a str, &'a str>;

/// Function that computes the rest of a line from its row.
type Task = fn(&Row) -> Result<String, String>;

fn contract(row: &Row, sigma: &str) -> Result<Contract, String> {
    let number = |name: &str| {
        let text = row.get(name).ok_or_else(|| format!("no column {name}"))?;
        text.parse::<f64>().map_err(|_| format!("{name} is not a number: {text}"))
    };
    let t = number("t_years")?;
    let mut dividends: Vec<(f64, f64)> = Vec::new();
    for entry in row.get("divs").unwrap_or(&"").split(';').filter(|x| !x.is_empty()) {
        let (at, amount) = entry.split_once(':').ok_or_else(|| format!("a dividend is t:amount, not {entry}"))?;
        let parse = |text: &str| text.parse::<f64>().map_err(|_| format!("not a number: {text}"));
        let (at, amount) = (parse(at)?, parse(amount)?);
        if at > 0.0 && at <= t && amount != 0.0 {
            dividends.push((at, amount));
        }
    }
    dividends.sort_by(|a, b| a.0.total_cmp(&b.0));
    dividends.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    let phi = match row.get("right") {
        Some(&"call") => 1.0,
        Some(&"put") => -1.0,
        other => return Err(format!("right is {other:?}")),
    };
    let (s, k, r, b) = (number("s")?, number("k")?, number("r")?, number("b")?);
    let sigma = if sigma.is_empty() { 1.0 } else { number(sigma)? };
    Ok(Contract { phi, s, k, t, r, b, sigma, dividends })
}

fn greeks_line(row: &Row) -> Result<String, String> {
    values_line(row, greeks::greeks, &NAMES)
}

fn spot_line(row: &Row) -> Result<String, String> {
    values_line(row, greeks::spot, &SPOT_NAMES)
}

fn values_line(row: &Row, of: fn(&Contract) -> Result<Greeks, Unsupported>, names: &[&str]) -> Result<String, String> {
    let found = of(&contract(row, "sigma")?).map_err(|e| e.0.to_owned())?;
    let values: Vec<String> = names.iter().map(|name| found.get(name)).map(|(v, e)| format!("{v:e},{e:e}")).collect();
    Ok(format!("{},{:e},{}", u8::from(found.exercise_now), found.boundary, values.join(",")))
}

fn prices_line(row: &Row) -> Result<String, String> {
    let (solved, errors) = greeks::core(&contract(row, "sigma")?).map_err(|e| e.0.to_owned())?;
    let values: Vec<String> = (0..3).map(|k| format!("{:e},{:e}", solved.value[k], errors[k])).collect();
    Ok(format!("{},{:e},{}", u8::from(solved.exercise_now), solved.boundary, values.join(",")))
}

fn volatility_line(row: &Row) -> Result<String, String> {
    let c = contract(row, "")?;
    let price: f64 = row["price"].parse().map_err(|_| "price is not a number".to_owned())?;
    let found = volatility::implied(&c, price).map_err(|e| e.0.to_owned())?;
    // Vega where the contract was made.
    let vega = match row.get("sigma_made").and_then(|x| x.parse().ok()) {
        Some(sigma) if found.status == "ok" => volatility::vega(&Contract { sigma, ..c }),
        _ => f64::NAN,
    };
    Ok(format!("{},{:e},{:e},{vega:e}", found.status, found.sigma, found.error))
}

fn run() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = "american-reference greeks|spot|prices|volatilities [--threads N] < contracts.csv > values.csv";
    let threads = match args.iter().position(|x| x == "--threads") {
        Some(i) => args.get(i + 1).and_then(|n| n.parse().ok()).ok_or(usage)?,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let pairs = |names: &[&str]| names.iter().map(|x| format!("{x},{x}_err")).collect::<Vec<_>>().join(",");
    let (line, columns): (Task, String) = match args.first().map(String::as_str) {
        Some("greeks") => (greeks_line, format!("exercise_now,boundary,{}", pairs(&NAMES))),
        Some("spot") => (spot_line, format!("exercise_now,boundary,{}", pairs(&SPOT_NAMES))),
        Some("prices") => (prices_line, format!("exercise_now,boundary,{}", pairs(&NAMES[..3]))),
        Some("volatilities") => (volatility_line, "status,sigma,sigma_err,vega".to_owned()),
        _ => return Err(usage.to_owned()),
    };
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| e.to_string())?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let rows: Vec<Row> = lines.map(|line| header.iter().copied().zip(line.split(',')).collect()).collect();

    let next = AtomicUsize::new(0);
    let done = Mutex::new((0, vec![String::new(); rows.len()]));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, rows.len().max(1)) {
            scope.spawn(|| {
                while let Some((i, row)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, rows.get(i)?)))
                {
                    let id = row.get("id").unwrap_or(&"");
                    let text = match line(row) {
                        Ok(values) => format!("{id},,{values}"),
                        Err(why) => format!("{id},{}", why.replace(',', ";")),
                    };
                    let Ok(mut done) = done.lock() else { return };
                    done.0 += 1;
                    done.1[i] = text;
                    if done.0 * 20 / rows.len() > (done.0 - 1) * 20 / rows.len() {
                        eprintln!("  {} of {} rows", done.0, rows.len());
                    }
                }
            });
        }
    });
    let (_, values) = done.into_inner().map_err(|e| e.to_string())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "id,unsupported,{columns}").map_err(|e| e.to_string())?;
    values.iter().try_for_each(|line| writeln!(out, "{line}")).map_err(|e| e.to_string())
}

fn main() {
    if let Err(why) = run() {
        eprintln!("{why}");
        std::process::exit(2);
    }
}
