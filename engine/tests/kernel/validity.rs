//! Every row of the table of validity (`engine/src/early/validity.rs`), measured: what is carried to the end of a limit
//! against what is taken anew there.

use engine::early::settings::EXPANSION;
use engine::early::validity::{MemoryLayer, Moved, TABLE, Validity, markdown, staleness};
use engine::early::{EarlyExercise, Valuation, plain};
use engine::store::evidence::ValueMethod;
use engine::store::ladder::Ladder;
use kernel::american::SharedBoundaries;
use kernel::black76::Horizon;
use kernel::black76::european_vol;
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::{AtTheMoney, Greek, Greeks};
use kernel::lanes::{BLOCK, Block, Lanes};
use kernel::quality::Quality;
use std::collections::BTreeMap;
use testkit::ruler::{PART, error};

const STEP: f64 = 1.0 / 365.0;
const S: f64 = 100.0;
const RATE: f64 = 0.04;
/// Up to the limit, and not beyond it by rounding.
const WITHIN: f64 = 0.999;
/// An error that is admitted may be so many times the one seen.
const SLACK: f64 = 10.0;
const RIGHTS: [Right; 2] = [Right::Call, Right::Put];

/// A slice at a market.
#[derive(Clone, Debug)]
struct Place {
    s: f64,
    sigma: f64,
    terms: Terms,
    quality: Quality,
}

/// Slices without and with dividends, of days and of a year, cheap and dear to borrow.
fn places(quality: Quality) -> Vec<Place> {
    let of = |t: f64, sigma: f64, b: f64, ex: &[f64]| {
        let divs = ex.iter().map(|&t| Dividend { t, amount: 0.6 }).collect();
        Place { s: S, sigma, terms: Terms { t, r: RATE, b, divs }, quality }
    };
    vec![
        of(0.5, 0.3, 0.003, &[]),
        of(0.08, 0.3, 0.003, &[]),
        of(0.5, 0.3, 0.12, &[]),
        of(0.08, 0.25, 0.003, &[0.03]),
        of(0.5, 0.3, 0.003, &[0.11, 0.36]),
        of(1.0, 0.6, -0.01, &[0.11, 0.36, 0.61, 0.86]),
    ]
}

impl Place {
    fn here(&self) -> Valuation<'_> {
        Valuation { style: Style::American, quality: self.quality, s: self.s, terms: &self.terms, step: STEP }
    }

    /// Twenty-one strikes up to two and a half deviations from the money.
    fn ladder(&self) -> Ladder {
        let deviation = self.sigma * self.terms.t.sqrt();
        let strike = |i: i32| (S * 1000.0 * (f64::from(i) * 0.25 * deviation).exp()).round() as u32;
        let strikes: Vec<u32> = (-10..=10).flat_map(|i| [strike(i); 2]).collect();
        let rights: Vec<Right> = (0..strikes.len()).map(|i| RIGHTS[i % 2]).collect();
        Ladder::new(&strikes, &rights)
    }

    /// The slice after one quantity has moved, in the unit of the table.
    fn moved(&self, moved: Moved, by: f64) -> Self {
        let Terms { t, r, b, .. } = self.terms;
        let mut to = self.clone();
        match moved {
            Moved::Spot => to.s = self.s + by * S * self.sigma * t.sqrt(),
            Moved::Volatility => to.sigma = self.sigma * (1.0 + by),
            Moved::Rate => to.terms.r = r + by / t,
            Moved::Borrow => to.terms.b = b + by / t,
            Moved::Time => {
                // a part of what is left then
                let elapsed = t * by / (1.0 + by);
                to.terms.t = t - elapsed;
                to.terms.divs.iter_mut().for_each(|d| d.t -= elapsed);
            }
        }
        to
    }

    fn update(&self, early: &mut EarlyExercise, ladder: &Ladder) -> usize {
        early
            .update(&SharedBoundaries::default(), &self.here(), ladder, &vec![self.sigma; ladder.strikes().len()])
            .taken() as usize
    }
}

/// Early exercise carried along `path` from `from`, and that taken anew at its end from the same tables; and how many
/// blocks were carried.
fn carried(from: &Place, path: &[Place]) -> (EarlyExercise, EarlyExercise, Ladder, [usize; 2]) {
    let ladder = from.ladder();
    let along = || {
        let mut early = EarlyExercise::default();
        let taken = [from].into_iter().chain(path).map(|place| place.update(&mut early, &ladder)).last();
        (early, taken.unwrap_or(0))
    };
    let ((carried, taken), (mut anew, _)) = (along(), along());
    anew.forget();
    path[path.len() - 1].update(&mut anew, &ladder);
    let blocks = 2 * ladder.blocks();
    (carried, anew, ladder, [blocks - taken, blocks])
}

/// Where a row ends, each by a path: the spot comes to two points by leaving the first.
fn paths(row: &Validity, from: &Place) -> Vec<Vec<Place>> {
    let by = WITHIN * row.most;
    let ends = if row.moved == Moved::Time { vec![by] } else { vec![-by, by] };
    let start = match row.layer {
        // half way between the two
        MemoryLayer::TwoPoints => Some(from.moved(Moved::Spot, 0.025)),
        _ => None,
    };
    let end = |by: f64| match (row.layer, row.moved) {
        // beyond either of the two
        (MemoryLayer::TwoPoints, Moved::Spot) => from.moved(Moved::Spot, if by > 0.0 { 0.05 + by } else { by }),
        _ => start.as_ref().unwrap_or(from).moved(row.moved, by),
    };
    ends.into_iter().map(|by| start.clone().into_iter().chain([end(by)]).collect()).collect()
}

/// Errors by name, seen against admitted: prints all, and fails beyond either end.
fn hold(row: &Validity, seen: BTreeMap<&'static str, Vec<f64>>, held: [usize; 2]) -> Vec<String> {
    let mut wrong = Vec::new();
    let named = format!("{}, {}", row.layer.name(), row.moved.name());
    let mut text = String::new();
    for (name, mut errors) in seen {
        errors.sort_by(f64::total_cmp);
        let at = errors[((errors.len() - 1) as f64 * 0.99) as usize];
        text += &format!("(\"{name}\", {at:.1e}), ");
        let admitted = row.error(name).unwrap_or(f64::NAN);
        if !(at <= admitted && (admitted <= SLACK * at || admitted <= 1e-7)) {
            wrong.push(format!("{named}: {name} {at:.1e} where the table says {admitted:.0e}"));
        }
    }
    println!("{named} {}: {} of {} blocks carried; {text}", row.most, held[0], held[1]);
    if row.layer != MemoryLayer::NoPremium && 4 * held[0] < held[1] {
        wrong.push(format!("{named}: only {} of {} blocks were carried", held[0], held[1]));
    }
    wrong
}

#[test]
fn carried_values_are_as_stale_as_the_table_says() {
    let mut wrong = Vec::new();
    for row in TABLE.iter().filter(|row| row.test == "carried_values_are_as_stale_as_the_table_says") {
        let quality = if row.layer == MemoryLayer::FromLattice { Quality::Preliminary } else { Quality::Full };
        let mut seen: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        let mut held = [0; 2];
        for from in places(quality) {
            for path in paths(row, &from) {
                let place = &path[path.len() - 1];
                let (carried, anew, ladder, own) = carried(&from, &path);
                held = [held[0] + own[0], held[1] + own[1]];
                for (right, block) in RIGHTS.into_iter().flat_map(|r| (0..ladder.blocks()).map(move |b| (r, b))) {
                    let (k, sigma) = (ladder.block(block), Block::splat(place.sigma));
                    let mut of_layer = [true; BLOCK];
                    let [want, got]: [Greeks<Block>; 2] = [&anew, &carried].map(|early| {
                        let mut greeks = plain(right, &place.here(), k, sigma);
                        let method = early.add(&place.here(), right, block, k, sigma, &mut greeks).method;
                        if row.layer == MemoryLayer::NoPremium {
                            of_layer = core::array::from_fn(|lane| method.of(lane) == ValueMethod::NeverPays);
                        }
                        greeks
                    });
                    for lane in (0..BLOCK).filter(|&lane| of_layer[lane] && block * BLOCK + lane < ladder.len()) {
                        let at = AtTheMoney { s: place.s, k: k.lane(lane), sigma: place.sigma, t: place.terms.t };
                        for &greek in Greek::DERIVATIVES {
                            if row.error(greek.name()).is_some() {
                                let (got, want) = (got.get(greek).lane(lane), want.get(greek).lane(lane));
                                seen.entry(greek.name()).or_default().push(error(greek, got, want, 0.0, &at));
                            }
                        }
                    }
                }
            }
        }
        wrong.extend(hold(row, seen, held));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In the last days without dividends an expansion is carried over more time than `EXPANSION.time`: its errors are
/// those that the limits of volatility and rates admit for the same slice.
#[test]
fn the_last_days_are_carried_as_moves_of_the_volatility() {
    for (t, sigma, b) in [(0.019, 0.2, 0.0), (0.012, 0.3, 0.003), (0.003, 0.6, 0.12), (5e-5, 0.4, -0.01)] {
        let from = Place { s: S, sigma, terms: Terms { t, r: RATE, b, divs: Vec::new() }, quality: Quality::Full };
        let stale = |moved: Moved, by: f64| -> BTreeMap<&'static str, f64> {
            let to = from.moved(moved, by);
            let (carried, anew, ladder, [held, blocks]) = carried(&from, core::slice::from_ref(&to));
            assert!(2 * held >= blocks, "t {t}, {}: only {held} of {blocks} blocks were carried", moved.name());
            let mut seen: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
            for (right, block) in RIGHTS.into_iter().flat_map(|r| (0..ladder.blocks()).map(move |b| (r, b))) {
                let (k, vol) = (ladder.block(block), Block::splat(to.sigma));
                let [want, got]: [Greeks<Block>; 2] = [&anew, &carried].map(|early| {
                    let mut greeks = plain(right, &to.here(), k, vol);
                    early.add(&to.here(), right, block, k, vol, &mut greeks);
                    greeks
                });
                for lane in (0..BLOCK).filter(|lane| block * BLOCK + lane < ladder.len()) {
                    let at = AtTheMoney { s: S, k: k.lane(lane), sigma: to.sigma, t: to.terms.t };
                    for &greek in Greek::DERIVATIVES {
                        let off = error(greek, got.get(greek).lane(lane), want.get(greek).lane(lane), 0.0, &at);
                        seen.entry(greek.name()).or_default().push(off);
                    }
                }
            }
            seen.into_iter().map(|(name, mut errors)| (name, testkit::quantile(&mut errors, 0.99))).collect()
        };
        let over_time = stale(Moved::Time, 5.0 * EXPANSION.time);
        let limits = [
            stale(Moved::Volatility, -WITHIN * EXPANSION.sigma),
            stale(Moved::Rate, -WITHIN * EXPANSION.rates),
            stale(Moved::Borrow, -WITHIN * EXPANSION.rates),
        ];
        println!("t {t}: {}", over_time.iter().map(|(n, e)| format!("{n} {e:.0e}")).collect::<Vec<_>>().join(", "));
        for (name, off) in over_time {
            let admitted: f64 = limits.iter().map(|errors| errors[name]).sum();
            assert!(off <= admitted, "t {t}: {name} {off:.1e}, {admitted:.1e} is admitted");
        }
    }
}

/// The volatility that a price implies a tenth above and below the curve, and the value on the next trading day.
#[test]
fn premiums_by_volatility_are_as_stale_as_the_table_says() {
    let mut wrong = Vec::new();
    for row in TABLE.iter().filter(|row| row.layer == MemoryLayer::ByVolatility) {
        let mut seen: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for from in places(Quality::Full) {
            for path in paths(row, &from) {
                let place = &path[path.len() - 1];
                let (carried, anew, ladder, _) = carried(&from, &path);
                let here = place.here();
                let x = Block::splat(place.s - place.terms.a(0.0));
                for (right, block) in RIGHTS.into_iter().flat_map(|r| (0..ladder.blocks()).map(move |b| (r, b))) {
                    let k = ladder.block(block);
                    let lanes = || (0..BLOCK).filter(|lane| block * BLOCK + lane < ladder.len());
                    for sigma in [0.9, 1.0, 1.1].map(|by| Block::splat(by * place.sigma)) {
                        let [got, want] = [&carried, &anew].map(|early| early.by_sigma(&here, right, block).at(sigma));
                        let european = european_vol(right.phi(), &Horizon::from(here.terms), x, k, sigma);
                        for lane in lanes() {
                            let at = AtTheMoney { s: place.s, k: k.lane(lane), sigma: place.sigma, t: place.terms.t };
                            let vega = (european.vega + want.vega).lane(lane).max(PART * Greek::Vega.size(&at));
                            let off = (got.value - want.value).lane(lane).abs() / (vega * sigma.lane(lane));
                            seen.entry("iv").or_default().push(off);
                        }
                    }
                    let sigma = Block::splat(place.sigma);
                    let [got, want] = [&carried, &anew].map(|early| {
                        let mut greeks = plain(right, &here, k, sigma);
                        early.add(&here, right, block, k, sigma, &mut greeks).next.premium
                    });
                    for lane in lanes() {
                        let off = (got - want).lane(lane).abs() / (PART * place.s);
                        seen.entry("next day").or_default().push(off);
                    }
                }
            }
        }
        wrong.extend(hold(row, seen, [1, 1]));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The table with the columns that the documents show.
fn documented() -> String {
    let shown = ["remembered", "moves by", "price", "delta", "gamma", "theta", "iv", "next day"];
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let table = markdown();
    let head = cells(table.lines().next().unwrap());
    let kept: Vec<usize> = shown.iter().map(|name| head.iter().position(|of| of == name).unwrap()).collect();
    let row = |line: &str| kept.iter().map(|&column| cells(line)[column].clone()).collect::<Vec<_>>().join(" | ");
    table.lines().map(|line| format!("| {} |\n", row(line))).collect()
}

#[test]
fn the_documents_show_the_table_of_validity() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/american-errors.md");
    let text = std::fs::read_to_string(path).unwrap();
    let begin = text.find("| remembered |").unwrap();
    let (written, after) = text[begin..].split_once("\n\n").unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, [&text[..begin], &documented(), "\n", after].concat()).unwrap();
        return;
    }
    assert_eq!(written, documented().trim_end(), "UPDATE_GOLDEN=1 writes the table");
}

/// How stale can a gamma be?
#[test]
fn no_layer_of_a_full_pass_admits_a_stale_gamma() {
    for (name, most) in [("price", 1e-6), ("delta", 4e-5), ("gamma", 1e-3), ("vega", 1e-3), ("theta", 2e-3)] {
        assert!(staleness(name) <= most, "{name}: {:.0e}", staleness(name));
    }
}
