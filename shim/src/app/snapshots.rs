//! `GET /l1/snapshots`: the snapshots of a name around an instant. Never: a row.

use super::endpoint::{Page, PageRequest};
use super::service::Service;
use crate::past;
use crate::past::snapshots::{ROUTE, refused};
use api::past::SHOWS_THE_PRESENT;
use api::query::Query;
use api::vendors::native_snapshots;
use http::Answer;

pub(super) static SNAPSHOTS: Page = Page {
    route: ROUTE,
    path: native_snapshots::PATH,
    is_heavy: false,
    answer: snapshots,
    put: None,
    operations: |_, _| vec![native_snapshots::operation()],
};

fn snapshots(service: &Service, request: &PageRequest) -> Answer {
    match (native_snapshots::parse(&Query::parse(&request.query)), &service.past) {
        (Ok(question), Some(past)) => past::snapshots(past, &question),
        (Ok(_), None) => refused(&SHOWS_THE_PRESENT),
        (Err(refusal), _) => refused(&refusal),
    }
}
