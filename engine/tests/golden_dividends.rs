//! American options with cash dividends against an independent reference solver (golden/american_div.csv).
//!
//! Every contract is read from tables built for a band of strikes and volatilities around it, at a random place
//! inside, as the daemon does: tables never know which contract will be asked.

use engine::contract::Right;
use engine::kernel::american::premium::PremiumTables;
use engine::kernel::american::{Band, Scheme};
use engine::kernel::dividends::{Dividend, Terms};
use engine::kernel::greeks::{Greeks, Market, exercised, finish};
use std::collections::HashMap;

const NAMES: [&str; 19] = [
    "price",
    "delta",
    "gamma",
    "speed",
    "vega",
    "volga",
    "ultima",
    "vanna",
    "zomma",
    "theta",
    "charm",
    "color",
    "veta",
    "rho",
    "vera",
    "epsilon",
    "lambda",
    "dual_delta",
    "dual_gamma",
];

/// One row of the golden file.
struct Row {
    id: String,
    right: Right,
    s: f64,
    k: f64,
    sigma: f64,
    terms: Terms,
    note: String,
    /// Value in raw units and its error, by name; absent where the file leaves it blank.
    want: HashMap<&'static str, (f64, f64)>,
}

/// Raw units over published ones.
fn per_published(name: &str) -> f64 {
    match name {
        "vega" | "rho" | "epsilon" => 100.0,
        "theta" => 365.0,
        _ => 1.0,
    }
}

fn rows() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/american_div.csv");
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().clone();
    let parse = |record: csv::StringRecord| {
        let text = |name: &str| record.get(header.iter().position(|h| h == name).unwrap()).unwrap();
        let number = |name: &str| text(name).parse::<f64>().ok();
        let divs = text("divs").split(';').filter(|d| !d.is_empty()).map(|d| {
            let (t, amount) = d.split_once(':').unwrap();
            Dividend { t: t.parse().unwrap(), amount: amount.parse().unwrap() }
        });
        let want = NAMES.iter().filter_map(|&name| {
            let unit = per_published(name);
            let error = number(&format!("{name}_err")).unwrap_or(0.0);
            number(name).map(|value| (name, (value * unit, error * unit)))
        });
        Row {
            id: text("id").into(),
            right: if text("right") == "call" { Right::Call } else { Right::Put },
            s: number("s").unwrap(),
            k: number("k").unwrap(),
            sigma: number("sigma").unwrap(),
            terms: Terms {
                t: number("t_years").unwrap(),
                r: number("r").unwrap(),
                b: number("b").unwrap(),
                divs: divs.collect(),
            },
            note: text("note").into(),
            want: want.collect(),
        }
    };
    reader.records().map(|record| parse(record.unwrap())).collect()
}

/// Numbers in [0, 1) that are the same in every run.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// A band of strike ratio 1.2 and volatility ratio 2 with the contract somewhere inside.
fn band_around(row: &Row, draws: &mut Draws) -> Band {
    let low_sigma = row.sigma / 2f64.powf(0.1 + 0.8 * draws.next());
    let low_k = row.k / 1.2f64.powf(0.1 + 0.8 * draws.next());
    Band { k: (low_k, low_k * 1.2), sigma: (low_sigma, low_sigma * 2.0) }
}

fn greeks(tables: &PremiumTables, terms: &Terms, s: f64, k: f64, sigma: f64) -> Greeks<f64> {
    let (jet, now) = tables.jet(terms, s, k, sigma);
    if now { exercised(tables.right().phi(), s, k, jet.d) } else { finish(&jet, &Market::new(terms, s), sigma) }
}

fn by_name(g: &Greeks<f64>) -> [f64; 19] {
    [
        g.value,
        g.delta,
        g.gamma,
        g.speed,
        g.vega,
        g.volga,
        g.ultima,
        g.vanna,
        g.zomma,
        g.theta,
        g.charm,
        g.color,
        g.veta,
        g.rho,
        g.vera,
        g.epsilon,
        g.lambda,
        g.dual_delta,
        g.dual_gamma,
    ]
}

/// What the Greek of an at-the-money option is about: errors of a Greek near zero are relative to 5 % of this.
fn natural_size(row: &Row, name: &str) -> f64 {
    let (s, k, t, sigma) = (row.s, row.k, row.terms.t, row.sigma);
    let width = sigma * t.sqrt();
    let gamma = 0.4 / (s * width);
    let vega = 0.4 * s * t.sqrt();
    match name {
        "gamma" | "dual_gamma" => gamma,
        "speed" => gamma / (s * width),
        "vega" => vega,
        "volga" => vega / sigma,
        "ultima" => vega / (sigma * sigma),
        "vanna" => 0.4 / sigma,
        "zomma" => gamma / sigma,
        "theta" => 0.2 * s * sigma / t.sqrt(),
        "charm" => 0.2 / t,
        "color" => gamma / (2.0 * t),
        "veta" => vega / (2.0 * t),
        "rho" => k * t,
        "vera" => k * t * t.sqrt(),
        "epsilon" => s * t,
        _ => 1.0,
    }
}

/// The error of one value as the tolerances count it: prices relative to the greater of V and 5 % of S, delta and
/// dual_delta absolute, others relative with a floor; the reference's own error taken off.
fn error(row: &Row, name: &str, got: f64) -> Option<f64> {
    let (want, doubt) = *row.want.get(name)?;
    let scale = match name {
        "price" => want.abs().max(0.05 * row.s),
        "delta" | "dual_delta" => 1.0,
        _ => want.abs().max(0.05 * natural_size(row, name)),
    };
    let off = ((got - want).abs() - 2.0 * doubt).max(0.0) / scale;
    Some(if got.is_finite() { off } else { f64::INFINITY })
}

fn quantile(errors: &mut [f64], p: f64) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors[((p * errors.len() as f64).ceil() as usize).clamp(1, errors.len()) - 1]
}

/// Errors by (group, name).
type Errors = HashMap<(String, &'static str), Vec<f64>>;

fn measure(scheme: Scheme, rows: &[Row]) -> (Errors, Vec<(f64, String)>) {
    let mut draws = Draws(0);
    let (mut errors, mut worst) = (Errors::new(), Vec::new());
    let (mut n_tables, mut build, mut anchored) = (0, 0.0, 0);
    for row in rows {
        let band = band_around(row, &mut draws);
        if let Ok(only) = std::env::var("ONLY") {
            if !only.contains(&row.id) {
                continue;
            }
            eprintln!("{} {:?} s {} k {} sigma {} {:?}", row.id, row.right, row.s, row.k, row.sigma, row.terms);
        }
        let start = std::time::Instant::now();
        let tables = PremiumTables::new(row.right, &row.terms, &band, scheme);
        build += start.elapsed().as_secs_f64();
        n_tables += tables.counts().0;
        anchored += tables.counts().1;
        let got = by_name(&greeks(&tables, &row.terms, row.s, row.k, row.sigma));
        let group = format!("{:?} b{}0", row.right, if row.terms.b == 0.0 { "=" } else { "≠" });
        for (name, got) in NAMES.into_iter().zip(got) {
            let Some(off) = error(row, name, got) else { continue };
            errors.entry(("all".into(), name)).or_default().push(off);
            errors.entry((group.clone(), name)).or_default().push(off);
            let reading =
                format!("{name} {} {} {tables:?}: got {got:e}, want {:e}", row.id, row.note, row.want[name].0);
            worst.push((off, reading));
        }
    }
    println!(
        "{n_tables} tables, {anchored} without a boundary, {:.2} ms each",
        build * 1e3 / f64::from(n_tables as u32)
    );
    (errors, worst)
}

fn print(errors: &mut Errors, worst: &mut [(f64, String)]) {
    let mut groups: Vec<String> = errors.keys().map(|k| k.0.clone()).collect();
    groups.sort();
    groups.dedup();
    for group in groups {
        println!("{group}");
        for name in NAMES {
            let Some(e) = errors.get_mut(&(group.clone(), name)) else { continue };
            let q = [0.5, 0.9, 0.95, 0.99, 1.0].map(|p| quantile(e, p));
            println!(
                "  {name:10} p50 {:.0e} p90 {:.0e} p95 {:.0e} p99 {:.0e} max {:.0e}",
                q[0], q[1], q[2], q[3], q[4]
            );
        }
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    for name in ["price", "delta", "gamma", "vega", "theta", "ultima", "rho", "epsilon"] {
        let prefix = format!("{name} ");
        for (off, reading) in worst.iter().filter(|w| w.1.starts_with(&prefix)).take(7) {
            println!("{off:.0e}  {reading}");
        }
    }
}

#[test]
fn dividends_meet_the_tolerances() {
    let rows = rows();
    let (mut errors, mut worst) = measure(Scheme::Fast, &rows);
    print(&mut errors, &mut worst);
    let bounds: [(&str, f64, f64); 0] = [];
    for (name, p, bound) in bounds {
        let got = quantile(errors.get_mut(&("all".into(), name)).unwrap(), p);
        assert!(got <= bound, "{name}: {got:e} at the quantile {p}, allowed {bound:e}");
    }
}
