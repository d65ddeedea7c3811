//! `GET /l1/strategy`: legs of one underlying as a whole, of now or of a past moment. Never: a number.

use super::endpoint::{Page, PageRequest};
use super::service::Service;
use crate::past;
use api::past::PastQuestion;
use api::refusal::Refusal;
use api::vendors::native_strategy;
use desk::strategy::answer::{ROUTE, StrategySurroundings, answer, names_of, refused, request_of};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use http::Answer;
use std::sync::Arc;

pub(super) static STRATEGY: Page = Page {
    route: ROUTE,
    path: native_strategy::PATH,
    is_heavy: false,
    answer: strategy,
    put: None,
    operations: |_, _| vec![native_strategy::operation()],
};

fn strategy(service: &Service, request: &PageRequest) -> Answer {
    let mut request = match request_of(&request.query) {
        Ok(request) => request,
        Err(refusal) => return refused(&refusal),
    };
    let names = names_of(&request, &service.roots);
    let snapshot = service.market.load_full();
    let around = StrategySurroundings {
        book: service.positions.lines(),
        roots: Arc::clone(&service.roots),
        zone: service.status.zone.clone(),
        note: service.note(&snapshot),
        snapshot,
    };
    match (request.past.take(), &service.past) {
        (Some(question), Some(past)) => {
            let desk = service.scenarios.clone();
            let then = move |chain: Result<Arc<Chain>, Refusal>| match chain {
                Ok(chain) => {
                    let snapshot = Arc::new(Snapshot::new(1, vec![chain], Vec::new()));
                    answer(&desk, request, StrategySurroundings { snapshot, note: Vec::new(), ..around })
                }
                Err(refusal) => refused(&refusal),
            };
            past::chain(past, names, question, ROUTE, Box::new(then))
        }
        (Some(PastQuestion { if_live: Some(refusal), .. }), None) => refused(&refusal),
        (_, _) => {
            names.into_iter().for_each(|name| service.requested.note(name));
            answer(&service.scenarios, request, around)
        }
    }
}
