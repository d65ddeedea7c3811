//! `GET /l1/scenario`: values of contracts and positions in scenarios. Never: a formula.

use super::endpoint::{Page, PageRequest};
use super::service::Service;
use api::query::Query;
use api::vendors::{native, native_scenario};
use desk::scenario::answer::{ROUTE, ScenarioSurroundings};
use http::Answer;
use std::sync::Arc;

pub(super) static SCENARIO: Page = Page {
    route: ROUTE,
    path: native_scenario::PATH,
    is_heavy: true,
    answer: scenario,
    put: None,
    operations: |_, _| vec![native_scenario::operation()],
};

fn scenario(service: &Service, request: &PageRequest) -> Answer {
    let request = match native_scenario::parse(&Query::parse(&request.query)) {
        Ok(request) => request,
        Err(refusal) => return native::refused(ROUTE, &refusal),
    };
    let names = request.subject.names().into_iter().map(|name| service.roots.underlying_of(name));
    names.for_each(|name| service.requested.note(name));
    let snapshot = service.market.load_full();
    let around = ScenarioSurroundings {
        book: service.positions.lines(),
        roots: Arc::clone(&service.roots),
        calendar: service.calendar.clone(),
        zone: service.status.zone.clone(),
        note: service.note(&snapshot),
        snapshot,
    };
    service.scenarios.answer(request, around)
}
