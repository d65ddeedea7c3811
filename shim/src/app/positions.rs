//! `/l1/positions`: rows of the latest values, what has changed them between two moments, and a request that replaces
//! the positions. Never: a row.

use super::endpoint::{Page, PageRequest};
use super::service::Service;
use crate::past::{self, BookQuestion};
use api::past::SHOWS_THE_PRESENT;
use api::vendors::native_positions;
use desk::explained::book as explained;
use desk::positions::answer::{ROUTE, answer, put, request_of};
use http::Answer;

pub(super) static POSITIONS: Page = Page {
    route: ROUTE,
    path: native_positions::PATH,
    is_heavy: true,
    answer: positions,
    put: Some(|service, body| put(&service.positions, body)),
    operations: |_, _| native_positions::operations().into(),
};

fn positions(service: &Service, request: &PageRequest) -> Answer {
    let request = match request_of(&service.positions, &request.query) {
        Ok(request) => request,
        Err(refusal) => return explained::refused(&refusal),
    };
    let live = service.market.load_full();
    let Some(span) = request.explained else {
        return answer(&service.positions, request, &service.note(&live));
    };
    let Some(past) = &service.past else { return explained::refused(&SHOWS_THE_PRESENT) };
    let book = service.positions.lines();
    let (names, expiries) = explained::names_of(&request, &book, &service.roots);
    let desk = service.scenarios.clone();
    let question = BookQuestion { names, expiries, span, live };
    let then = move |market| match market {
        Ok(market) => explained::answer(&desk, request, book, market),
        Err(refusal) => explained::refused(&refusal),
    };
    past::book(past, question, ROUTE, Box::new(then))
}
