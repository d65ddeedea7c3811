//! `GET /l1/explain`: the explanation of a contract, of now or of a past moment. Never: the contents of an explanation.

use super::endpoint::{Page, PageRequest};
use super::service::Service;
use crate::past;
use api::refusal::Refusal;
use api::vendors::native_explain::{self, ExplainQuestion};
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
    let question = question_of(&request.query);
    if let (Ok(ExplainQuestion { contract, form, past: Some(question) }), Some(past)) = (&question, &service.past) {
        let (explaining, contract, form) = (service.explaining.clone(), *contract, *form);
        let (feed, zone) = (service.status.feed.clone(), service.status.zone.clone());
        let names = vec![service.roots.underlying_of(contract.root)];
        let explain = move |chain: Result<Arc<Chain>, Refusal>| {
            let market = MarketPart { feed, ..MarketPart::default() };
            let around = Surroundings { market, zone: Some(zone) };
            let answer = chain.and_then(|chain| explaining.of_chain(chain, contract, form, around));
            answer.unwrap_or_else(|refusal| refused(&refusal))
        };
        return past::chain(past, names, question.clone(), ROUTE, Box::new(explain));
    }
    if let Ok(question) = &question {
        service.requested.note(service.roots.underlying_of(question.contract.root));
    }
    let market = MarketPart {
        feed: service.status.feed.clone(),
        simulated: service.status.simulated,
        market_open: service.status.facts().market_open,
        ..MarketPart::default()
    };
    let around = Surroundings { market, zone: Some(service.status.zone.clone()) };
    service.explaining.answer(&service.market.load_full(), &request.query, around)
}
