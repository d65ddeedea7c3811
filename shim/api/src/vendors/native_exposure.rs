//! `GET /l1/exposure`: open contracts times their Greeks, by name, expiry or strike. What the sums mean and which sign
//! they assume: docs/metrics.md.
#![allow(clippy::arithmetic_side_effects, reason = "sums of floats")]

use super::facts::{FactForm, FactRow};
use super::layer::{FactRows, FactTable, Layer, RequestContext, Serve};
use super::native::{
    APIKEY, CENTER, EXP, MAX_DAYS, MAX_DELTA, MAX_EXP, MAX_STRIKE, MIN_DAYS, MIN_DELTA, MIN_EXP, MIN_STRIKE, OSYM,
    RIGHT, ROOT, STRICT, STRIKE_COUNT, TOKEN, UNDERLYING, native, parse_selection, parse_unserved,
};
use super::native_facts::{
    FORMAT, FactCondition, FactSort, LIMIT, conditions_of, limit_of, met_by, number, order_of, read_condition, sort_by,
    word,
};
use super::native_past::{self, AS_OF};
use crate::picked::Picked;
use crate::query::Query;
use crate::query::parameter::{OneWord, Param, ReadAs, ReadEach, parameters};
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, Stamp};
use crate::rows::frame::{ColumnHead, Format};
use crate::rows::table::Fact;
use engine::store::chain::{Chain, Slice};
use engine::term::{Exposure, Exposures, each_exposure, gamma_flip, max_pain};
use kernel::contract::strike_of;
use std::collections::BTreeMap;

/// Exposures of names, expiries and strikes.
pub const EXPOSURE: Layer = native("/l1/exposure", PARAMETERS, Serve::Facts(parse));

parameters! {
    PARAMETERS:
    use UNDERLYING, ROOT, OSYM;
    const BY: Param<OneWord<ExposureRows>> = Param::new(
        "by",
        OneWord(&[
            ("name", ExposureRows::Name),
            ("expiry", ExposureRows::Expiry),
            ("strike", ExposureRows::Strike),
            ("expiry_strike", ExposureRows::ExpiryStrike),
        ]),
        "One row for each name, expiry, strike of all expiries, or strike of each expiry [default: name]. gex, \
         vanna_exp and charm_exp are calls less puts: they assume that dealers are long calls and short puts",
    );
    use EXP, MIN_EXP, MAX_EXP, MIN_DAYS, MAX_DAYS, RIGHT, MIN_STRIKE, MAX_STRIKE, MIN_DELTA, MAX_DELTA, CENTER,
        STRIKE_COUNT;
    const WHERE: Param<ReadEach<FactCondition>> = met_by(|text| read_condition(text, &[HEADS]));
    const SORT: Param<ReadAs<FactSort>> = sort_by(|text| FactSort::parse(text, &[HEADS]));
    use LIMIT, FORMAT, AS_OF, STRICT, APIKEY, TOKEN;
}

/// Subject of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ExposureRows {
    #[default]
    Name,
    Expiry,
    Strike,
    ExpiryStrike,
}

/// The assumption behind what is calls less puts, as every row says it.
const ASSUMES: &str = "dealers_long_calls_short_puts";

/// Every row has all of them: what does not apply to a row is missing.
const HEADS: &[ColumnHead<'static>] = &[
    word("underlying"),
    word("valued_at"),
    word("root"),
    word("expiry"),
    number("strike"),
    number("und_price"),
    number("gex"),
    number("call_gamma"),
    number("put_gamma"),
    number("vanna_exp"),
    number("call_vanna"),
    number("put_vanna"),
    number("charm_exp"),
    number("call_charm"),
    number("put_charm"),
    number("delta_exp"),
    number("call_delta"),
    number("put_delta"),
    number("call_oi"),
    number("put_oi"),
    number("oi_missing"),
    number("unpriced"),
    number("gamma_flip"),
    number("max_pain"),
    number("max_pain_paid"),
    word("assumes"),
    word("missing"),
];

fn parse(query: &Query<'_>) -> Result<FactTable, Refusal> {
    let selection = parse_selection(query)?;
    let rows: FactRows = match query.get(&BY)?.unwrap_or_default() {
        ExposureRows::Name => names,
        ExposureRows::Expiry => expiries,
        ExposureRows::Strike => strikes,
        ExposureRows::ExpiryStrike => expiry_strikes,
    };
    Ok(FactTable {
        selection,
        unserved: parse_unserved(query)?,
        past: native_past::parse_moment(query)?,
        form: query.get(&FORMAT)?.unwrap_or(FactForm::Text(Format::Json)),
        title: "Exposure of open contracts",
        heads: HEADS,
        rows,
        conditions: conditions_of(query, &WHERE, HEADS)?,
        order: order_of(query, &SORT, HEADS)?,
        limit: limit_of(query)?,
    })
}

/// Slice and strike of a row, and numbers that only some rows have.
#[derive(Default)]
struct About<'a> {
    slice: Option<&'a Slice>,
    strike_milli: Option<u32>,
    flip: Option<Result<f64, &'static str>>,
    max_pain: Option<Option<(f64, f64)>>,
}

fn names(picked: &[Picked], context: &RequestContext<'_>, clock: &Clock) -> Vec<FactRow> {
    let of_name = |of: &Picked| {
        let all = Exposures::of_rows(&of.chain, &of.rows, context.roots);
        let flip = Some(gamma_flip(&of.chain, &of.rows, context.roots));
        row(&of.chain, &About { flip, ..About::default() }, &all, clock)
    };
    picked.iter().map(of_name).collect()
}

fn expiries(picked: &[Picked], context: &RequestContext<'_>, clock: &Clock) -> Vec<FactRow> {
    let mut rows = Vec::new();
    for of in picked {
        let mut by_slice: BTreeMap<u32, (&Slice, Exposures)> = BTreeMap::new();
        each_exposure(&of.chain, &of.rows, context.roots, |slice, _, exposures| {
            by_slice.entry(slice.rows.start).or_insert((slice, Exposures::default())).1 += exposures;
        });
        rows.extend(by_slice.into_values().map(|(slice, all)| {
            let about = About { slice: Some(slice), max_pain: Some(max_pain(&of.chain, slice)), ..About::default() };
            row(&of.chain, &about, &all, clock)
        }));
    }
    rows
}

fn strikes(picked: &[Picked], context: &RequestContext<'_>, clock: &Clock) -> Vec<FactRow> {
    let mut rows = Vec::new();
    for of in picked {
        let mut by_strike: BTreeMap<u32, Exposures> = BTreeMap::new();
        each_exposure(&of.chain, &of.rows, context.roots, |_, row, exposures| {
            *by_strike.entry(of.chain.strike_milli[row]).or_default() += exposures;
        });
        rows.extend(by_strike.into_iter().map(|(strike, all)| {
            row(&of.chain, &About { strike_milli: Some(strike), ..About::default() }, &all, clock)
        }));
    }
    rows
}

fn expiry_strikes(picked: &[Picked], context: &RequestContext<'_>, clock: &Clock) -> Vec<FactRow> {
    let mut rows = Vec::new();
    for of in picked {
        let mut all: Vec<(&Slice, u32, Exposures)> = Vec::new();
        each_exposure(&of.chain, &of.rows, context.roots, |slice, row, exposures| {
            let strike = of.chain.strike_milli[row];
            match all.last_mut().filter(|last| (last.0.rows.start, last.1) == (slice.rows.start, strike)) {
                Some(last) => last.2 += exposures,
                None => all.push((slice, strike, exposures)),
            }
        });
        rows.extend(all.into_iter().map(|(slice, strike, all)| {
            let about = About { slice: Some(slice), strike_milli: Some(strike), ..About::default() };
            row(&of.chain, &about, &all, clock)
        }));
    }
    rows
}

fn row(chain: &Chain, about: &About<'_>, all: &Exposures, clock: &Clock) -> FactRow {
    let Exposures { calls, puts, unknown, unpriced, .. } = all;
    let slice = about.slice;
    let mut missing = Vec::new();
    let mut number = |name: &str, found: Result<f64, &str>| match found {
        Ok(x) => Fact::Number(x),
        Err(why) => {
            missing.push(format!("{name}:{why}"));
            Fact::Missing
        }
    };
    let und_price = slice.or(chain.slices.iter().find(|slice| slice.und_price > 0.0)).map(|slice| slice.und_price);
    let und_price = number("und_price", und_price.filter(|price| price.is_finite()).ok_or("no_price"));
    let mut sum = |name: &str, x: f64| number(name, all.sum(x));
    let mut net = |[both, call, put]: [&str; 3], of: fn(&Exposure) -> f64| {
        [sum(both, all.net(of)), sum(call, of(calls)), sum(put, of(puts))]
    };
    let gamma = net(["gex", "call_gamma", "put_gamma"], |of| of.gamma);
    let vanna = net(["vanna_exp", "call_vanna", "put_vanna"], |of| of.vanna);
    let charm = net(["charm_exp", "call_charm", "put_charm"], |of| of.charm);
    let delta =
        [sum("delta_exp", calls.delta + puts.delta), sum("call_delta", calls.delta), sum("put_delta", puts.delta)];
    let open = [sum("call_oi", calls.open), sum("put_oi", puts.open)];
    let flip = about.flip.map_or(Fact::Missing, |flip| number("gamma_flip", flip));
    let pain = about.max_pain.map(|pain| pain.ok_or("open_interest_incomplete"));
    let [pain, paid] =
        [("max_pain", pain.map(|of| of.map(|of| of.0))), ("max_pain_paid", pain.map(|of| of.map(|of| of.1)))]
            .map(|(name, found)| found.map_or(Fact::Missing, |found| number(name, found)));
    let word = |word: Option<String>| word.map_or(Fact::Missing, Fact::Word);
    let mut cells = vec![
        Fact::Word(chain.underlying.to_string()),
        Fact::Word(clock.spell(chain.valued_at, Stamp::EasternOffsetMillis)),
        word(slice.map(|slice| slice.root.to_string())),
        word(slice.map(|slice| slice.expiry.to_string())),
        about.strike_milli.map_or(Fact::Missing, |strike| Fact::Number(strike_of(strike))),
        und_price,
    ];
    cells.extend([gamma, vanna, charm, delta].into_iter().flatten());
    cells.extend(open);
    cells.extend([Fact::Count(u64::from(*unknown)), Fact::Count(u64::from(*unpriced)), flip, pain, paid]);
    cells.extend([Fact::Word(ASSUMES.to_owned()), Fact::Words(missing)]);
    FactRow::Cells(cells)
}
