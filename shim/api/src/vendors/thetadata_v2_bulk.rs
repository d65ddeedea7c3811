//! ThetaData, version 2, whole expirations of past days: `GET /v2/bulk_hist/option/…` and `GET
//! /v2/bulk_at_time/option/quote`. A contract stands beside the rows of all its moments.

use super::layer::{Layer, Reply, Serve};
use super::parameter::{FORMAT, title};
use super::thetadata_v2::{CONTRACT, EXP, ROOT, USE_CSV, around_ticks, at, open_ticks};
use super::thetadata_v2_past::{
    END_DATE, END_TIME, IVL, PastSteps, RTH, START_DATE, START_TIME, TIME_OF_DAY, at_time, history_fields, of_days,
    quoted, steps,
};
use crate::query::Query;
use crate::refusal::Refusal;
use crate::rows::field::{Field, close};
use crate::rows::layout::Walk;
use crate::selection::Selection;

/// Greeks or quotes of an expiration.
pub const HISTORY: Layer = at(
    "/v2/bulk_hist/option/{what}",
    &[&IVL, &START_TIME, &END_TIME, &ROOT, &EXP, &START_DATE, &END_DATE, &FORMAT, &USE_CSV, &RTH],
    Serve::Rows(|query| {
        let what = query.segment("what");
        let (fields, is_quotes) = history_fields(what).ok_or(Refusal::UnknownPath)?;
        parse(query, fields, is_quotes, steps(query, what)?)
    }),
);
/// Quotes of an expiration at one time of some days.
pub const QUOTE_AT: Layer = at(
    "/v2/bulk_at_time/option/quote",
    &[&TIME_OF_DAY, &ROOT, &EXP, &START_DATE, &END_DATE, &FORMAT, &USE_CSV],
    Serve::Rows(|query| parse(query, quoted(), true, at_time(query)?)),
);

fn parse(query: &Query<'_>, ticks: Vec<Field>, is_quotes: bool, steps: PastSteps) -> Result<Reply, Refusal> {
    let root = query.required(&ROOT)?;
    let selection = Selection {
        expiries: if query.required_text(&EXP)? == "0" { None } else { Some(vec![query.required(&EXP)?]) },
        ..Selection::named(root)
    };
    let reply = of_days(query, is_quotes, steps)?;
    Ok(Reply {
        selection,
        fields: [CONTRACT, &open_ticks(), &ticks, &[close(), close()]].concat(),
        walk: Walk::Grouped,
        around: around_ticks(),
        title: title(root),
        ..reply
    })
}
