//! `/l1/positions`: rows of the latest values, and a request that replaces the positions. Never: a row.

use super::endpoint::Page;
use api::vendors::native_positions;
use desk::positions::answer::{ROUTE, answer, put};

pub(super) static POSITIONS: Page = Page {
    route: ROUTE,
    path: native_positions::PATH,
    is_heavy: true,
    answer: |service, request| {
        let note = service.note(&service.market.load_full());
        answer(&service.positions, &request.query, &note)
    },
    put: Some(|service, body| put(&service.positions, body)),
    operations: |_, _| native_positions::operations().into(),
};
