//! `GET /l1/explain`: the explanation of a contract, of now or of a past moment. Never: the contents of an explanation.

use super::endpoint::{Page, PageRequest};
use super::service::Service;
use crate::past;
use api::refusal::Refusal;
use api::vendors::native_explain;
use engine::store::chain::Chain;
use http::Answer;
use std::sync::Arc;
use tools::explain::answer::{ROUTE, question_of, refused};
use tools::explain::document::{MarketPart, Surroundings};

pub(super) static EXPLAIN: Page = Page {
    route: ROUTE,
    path: native_explain::PATH,
    is_heavy: false,
    answer: explain,
    put: None,
    operations: |_, _| vec![native_explain::operation()],
};

fn explain(service: &Service, request: &PageRequest) -> Answer {
    let question = match question_of(&request.query) {
        Ok(question) => question,
        Err(refusal) => return refused(&refusal),
    };
    let name = service.roots.underlying_of(question.contract.root());
    if let (Some(moment), Some(past)) = (question.past.clone(), &service.past) {
        let (explaining, roots) = (service.explaining.clone(), Arc::clone(&service.roots));
        let (feed, zone) = (service.status.feed.clone(), service.status.zone.clone());
        let explain = move |chain: Result<Arc<Chain>, Refusal>| {
            let market = MarketPart { feed, ..MarketPart::default() };
            let around = Surroundings { market, zone: Some(zone) };
            let answer = chain.and_then(|chain| explaining.of_chain(chain, &question, &roots, around));
            answer.unwrap_or_else(|refusal| refused(&refusal))
        };
        return past::chain(past, vec![name], moment, ROUTE, Box::new(explain));
    }
    service.requested.note(name);
    let market = MarketPart {
        feed: service.status.feed.clone(),
        simulated: service.status.simulated,
        market_open: service.status.facts().market_open,
        ..MarketPart::default()
    };
    let around = Surroundings { market, zone: Some(service.status.zone.clone()) };
    let snapshot = service.market.load_full();
    let answer = service.explaining.of_snapshot(&snapshot, question, &service.roots, around);
    answer.unwrap_or_else(|refusal| refused(&refusal))
}
