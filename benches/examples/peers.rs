//! Our side of `just peers`, and that of the Rust crates: writes contracts, values and processor time as CSV, for
//! benches/peers/compare.py to read. Chains of three expiries and 60 strikes, calls and puts; see `workload::chain`.
//!
//! `{class}.csv` has the columns of golden/, `{class}_{peer}.csv` those that the peer knows, `times.csv` what they
//! took.

use greeksd_benches::cpu::of_thread;
use greeksd_benches::golden::columns;
use greeksd_benches::naive::Contract;
use greeksd_benches::workload::{Slice, chain};
use implied_vol::{DefaultSpecialFn, PriceBlackScholes};
use kernel::american::Pricer;
use kernel::contract::{Right, Style};
use kernel::greeks::Greeks;
use kernel::quality::Quality;
use regit_blackscholes::greeks::compute_greeks;
use regit_blackscholes::models::black_scholes::price;
use regit_blackscholes::{OptionParams, OptionType};
use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Repetitions, of which the best counts, and the least time of each.
const REPETITIONS: usize = 7;
const LEAST: Duration = Duration::from_millis(30);
/// Name, style, borrow rate and quarterly dividend.
const CLASSES: [(&str, Style, f64, f64); 3] = [
    ("european", Style::European, 0.013, 0.0),
    ("american", Style::American, 0.005, 0.0),
    ("dividends", Style::American, 0.003, 0.55),
];

type Outcome<T> = Result<T, Box<dyn Error>>;
/// The values that a peer knows, by column of golden/.
type Known = Vec<(&'static str, f64)>;

fn main() -> Outcome<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "target/peers".to_owned()));
    std::fs::create_dir_all(&folder)?;
    let mut times = csv::Writer::from_path(folder.join("times.csv"))?;
    times.write_record(["class", "who", "what", "ns"])?;
    for (class, style, b, dividend) in CLASSES {
        let slices = chain(style, b, dividend);
        for (scheme, file) in [(Quality::Full, class.to_owned()), (Quality::Reference, format!("{class}_accurate"))] {
            let rows: Vec<(Contract, Known)> = slices.iter().flat_map(|slice| valued(slice, scheme)).collect();
            write(&folder.join(file + ".csv"), &rows)?;
        }
        for (what, ns) in ours(&slices) {
            times.write_record([class, "greeksd", what, &format!("{ns:.1}")])?;
        }
    }
    let (_, style, b, dividend) = CLASSES[0];
    let contracts: Vec<Contract> = chain(style, b, dividend).iter().flat_map(contracts).collect();
    for (who, what, ns) in crates(&folder, &contracts)? {
        times.write_record(["european", who, what, &format!("{ns:.1}")])?;
    }
    times.flush()?;
    Ok(())
}

fn contracts(slice: &Slice) -> Vec<Contract> {
    (0..slice.contracts() as usize).map(|i| slice.contract(i)).collect()
}

/// Every contract of a slice with its 21 values.
fn valued(slice: &Slice, scheme: Quality) -> Vec<(Contract, Known)> {
    let pricer = slice.pricer_with(scheme);
    let value = |o: Contract| {
        let greeks: Greeks<f64> = pricer.at(&o.terms, o.s).greeks(o.k, o.sigma);
        (o, columns(&greeks).to_vec())
    };
    contracts(slice).into_iter().map(value).collect()
}

/// Processor time a contract with tables cached, and a slice for its tables (built, and read once).
fn ours(slices: &[Slice]) -> Vec<(&'static str, f64)> {
    let n: u64 = slices.iter().map(Slice::contracts).sum();
    let pricers = |scheme| slices.iter().map(|slice| (slice, slice.pricer_with(scheme))).collect();
    let (fast, accurate): (Vec<(&Slice, Pricer)>, Vec<_>) = (pricers(Quality::Full), pricers(Quality::Reference));
    let all = |of: &[(&Slice, Pricer)]| of.iter().for_each(|(slice, pricer)| slice.value(pricer));
    let singly = || fast.iter().for_each(|(slice, pricer)| slice.value_singly(pricer));
    let tables = |scheme| slices.iter().for_each(|slice| drop(black_box(slice.pricer_with(scheme))));
    vec![
        ("all", best(n, || all(&fast))),
        ("all, one contract at a time", best(n, singly)),
        ("tables", best(slices.len() as u64, || tables(Quality::Full))),
        ("all, accurate", best(n, || all(&accurate))),
        ("tables, accurate", best(slices.len() as u64, || tables(Quality::Reference))),
    ]
}

/// Nanoseconds of processor time for one of `n` things that `work` does.
fn best(n: u64, mut work: impl FnMut()) -> f64 {
    let once = of_thread(1, &mut work).max(Duration::from_nanos(100));
    let rounds = LEAST.as_nanos().div_ceil(once.as_nanos()) as u64;
    let times = (0..REPETITIONS).map(|_| of_thread(rounds, &mut work).as_secs_f64() * 1e9 / (rounds * n) as f64);
    times.fold(f64::INFINITY, f64::min)
}

/// The crates, one contract at a time as they are made: writes what they say, returns what it took.
fn crates(folder: &Path, contracts: &[Contract]) -> Outcome<[(&'static str, &'static str, f64); 4]> {
    let kept = |name: &str, rows: Vec<(Contract, Known)>| write(&folder.join(format!("european_{name}.csv")), &rows);
    let values = |known: &dyn Fn(&Contract) -> Known| contracts.iter().map(|o| (o.clone(), known(o))).collect();
    kept("regit-blackscholes", values(&|o| regit_known(o)))?;
    kept("black_scholes", values(&|o| black_scholes_known(o)))?;
    kept("implied-vol", values(&|o| vec![("price", implied_vol_price(o))]))?;
    Ok([
        ("regit-blackscholes", "price and 17 Greeks", timed(contracts, |o| (regit_price(o), regit_greeks(o)))),
        ("regit-blackscholes", "price", timed(contracts, regit_price)),
        ("black_scholes", "price and 8 Greeks, call and put", timed(contracts, black_scholes_all)),
        ("implied-vol", "price", timed(contracts, implied_vol_price)),
    ])
}

fn timed<T>(contracts: &[Contract], value: impl Fn(&Contract) -> T) -> f64 {
    best(contracts.len() as u64, || {
        for o in contracts {
            black_box(value(black_box(o)));
        }
    })
}

fn regit_params(o: &Contract) -> OptionParams<f64> {
    let option_type = if o.right == Right::Call { OptionType::Call } else { OptionType::Put };
    let (rate, div_yield, time) = (o.terms.r, o.terms.b, o.terms.t);
    OptionParams { option_type, spot: o.s, strike: o.k, rate, div_yield, vol: o.sigma, time }
}

fn regit_price(o: &Contract) -> f64 {
    price(&regit_params(o)).unwrap_or(f64::NAN)
}

fn regit_greeks(o: &Contract) -> Option<regit_blackscholes::Greeks<f64>> {
    compute_greeks(&regit_params(o)).ok()
}

/// Its vega, rho and epsilon are per 1.00, its theta per calendar day; color and veta by time to expiry.
fn regit_known(o: &Contract) -> Known {
    let Some(g) = regit_greeks(o) else { return Vec::new() };
    vec![
        ("price", regit_price(o)),
        ("delta", g.delta),
        ("gamma", g.gamma),
        ("speed", g.speed),
        ("vega", g.vega / 100.0),
        ("volga", g.vomma),
        ("ultima", g.ultima),
        ("vanna", g.vanna),
        ("zomma", g.zomma),
        ("theta", g.theta),
        ("charm", g.charm),
        ("color", -g.color),
        ("veta", -g.veta),
        ("rho", g.rho / 100.0),
        ("epsilon", g.epsilon / 100.0),
        ("lambda", g.lambda),
        ("dual_delta", g.dual_delta),
        ("dual_gamma", g.dual_gamma),
    ]
}

fn black_scholes_all(o: &Contract) -> black_scholes::PricesAndGreeks {
    black_scholes::bsm_compute_all(o.s, o.k, o.sigma, o.terms.r, o.terms.b, o.terms.t)
}

/// Its vega and rho are per 1.00, its theta per year.
fn black_scholes_known(o: &Contract) -> Known {
    let g = black_scholes_all(o);
    let call = o.right == Right::Call;
    let pick = |yes: f64, no: f64| if call { yes } else { no };
    vec![
        ("price", pick(g.call_price, g.put_price)),
        ("delta", pick(g.call_delta, g.put_delta)),
        ("gamma", pick(g.call_gamma, g.put_gamma)),
        ("vega", pick(g.call_vega, g.put_vega) / 100.0),
        ("volga", pick(g.call_vomma, g.put_vomma)),
        ("vanna", pick(g.call_vanna, g.put_vanna)),
        ("theta", pick(g.call_theta, g.put_theta) / 365.0),
        ("charm", pick(g.call_charm, g.put_charm)),
        ("rho", pick(g.call_rho, g.put_rho) / 100.0),
    ]
}

fn implied_vol_price(o: &Contract) -> f64 {
    let option = PriceBlackScholes::builder().forward(o.terms.fwd(o.s)).strike(o.k).volatility(o.sigma);
    let option = option.expiry(o.terms.t).is_call(o.right == Right::Call).build();
    option.map_or(f64::NAN, |option| o.terms.df() * option.calculate::<DefaultSpecialFn>())
}

/// Contracts and values as golden/ has them; what a peer does not know is blank.
fn write(path: &Path, rows: &[(Contract, Known)]) -> Outcome<()> {
    let names: Vec<&str> =
        rows.first().map(|(_, known)| known.iter().map(|(name, _)| *name).collect()).unwrap_or_default();
    let mut out = csv::Writer::from_path(path)?;
    let inputs = ["id", "style", "right", "s", "k", "t_years", "r", "b", "sigma", "divs"];
    out.write_record(inputs.iter().chain(&names))?;
    for (i, (o, known)) in rows.iter().enumerate() {
        let style = if o.style == Style::American { "american" } else { "european" };
        let right = if o.right == Right::Call { "call" } else { "put" };
        let divs: Vec<String> = o.terms.divs.iter().map(|d| format!("{}:{}", d.t, d.amount)).collect();
        let mut row = vec![format!("{i}"), style.to_owned(), right.to_owned()];
        row.extend([o.s, o.k, o.terms.t, o.terms.r, o.terms.b, o.sigma].map(|v| v.to_string()));
        row.push(divs.join(";"));
        row.extend(known.iter().map(|(_, value)| value.to_string()));
        out.write_record(row)?;
    }
    out.flush()?;
    Ok(())
}
