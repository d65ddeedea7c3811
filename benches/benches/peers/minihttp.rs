//! may_minihttp: a coroutine per connection. Its interface takes a body that is whole.

use super::{split, write_whole};
use may_minihttp::{HttpServer, HttpService, Request, Response};
use shim::app::Service;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

#[derive(Clone)]
struct Peer {
    service: Arc<Service>,
    body: Vec<u8>,
}

impl HttpService for Peer {
    fn call(&mut self, request: Request<'_, '_, '_>, response: &mut Response<'_>) -> io::Result<()> {
        let (path, query) = split(request.path());
        let answer = self.service.answer_to(path, query);
        response.header(match answer.content_type {
            "application/json" => "Content-Type: application/json",
            _ => "Content-Type: text/plain",
        });
        self.body.clear();
        write_whole(answer.body, &mut self.body);
        response.body_mut().extend_from_slice(&self.body);
        Ok(())
    }
}

/// Starts it; it runs until the program ends.
///
/// # Panics
/// It does not start.
pub(crate) fn start(service: Arc<Service>) -> SocketAddr {
    may::config().set_stack_size(0x8000).set_workers(2);
    let address = super::free_address();
    let handle = HttpServer(Peer { service, body: Vec::new() }).start(address).expect("a server");
    std::mem::forget(handle);
    address
}
