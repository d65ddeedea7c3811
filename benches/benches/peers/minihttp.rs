//! may_minihttp: a coroutine per connection. Its interface takes a body that is whole.

use super::split;
use http::{Body, Progress};
use may_minihttp::{HttpServer, HttpService, Request, Response};
use shim::app::Service;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

#[derive(Clone)]
struct Peer {
    service: Arc<Service>,
    piece: Vec<u8>,
}

impl HttpService for Peer {
    fn call(&mut self, request: Request<'_, '_, '_>, response: &mut Response<'_>) -> io::Result<()> {
        let (path, query) = split(request.path());
        let answer = self.service.answer_to(path, query);
        response.header(match answer.content_type {
            "application/json" => "Content-Type: application/json",
            _ => "Content-Type: text/plain",
        });
        match answer.body {
            Body::Full(bytes) => response.body_mut().extend_from_slice(&bytes),
            Body::Awaited(_) | Body::Socket(_) => unreachable!("no past moment and no socket is asked for here"),
            Body::Stream(mut stream) => {
                let mut progress = Progress::More;
                while progress == Progress::More {
                    self.piece.clear();
                    progress = stream.fill(&mut self.piece);
                    response.body_mut().extend_from_slice(&self.piece);
                }
            }
        }
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
    let handle = HttpServer(Peer { service, piece: Vec::new() }).start(address).expect("a server");
    std::mem::forget(handle);
    address
}
