//! hyper on tokio: a task per connection, the body pulled piece by piece.

use super::split;
use bytes::Bytes;
use http::{Body, Progress, Stream};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use shim::app::Service;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpListener;

/// A body that is there, or one that is written as hyper asks for it.
enum Pieces {
    Whole(Option<Bytes>),
    Stream(Option<Box<dyn Stream>>),
}

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut *self {
            Self::Whole(bytes) => bytes.take(),
            Self::Stream(stream) => stream.take().map(|mut rest| {
                let mut piece = Vec::with_capacity(http::limits::PIECE_BYTES * 2);
                if rest.fill(&mut piece) == Progress::More {
                    *stream = Some(rest);
                }
                piece.into()
            }),
        };
        Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

fn respond(service: &Service, request: &Request<Incoming>) -> Response<Pieces> {
    let (path, query) = split(request.uri().path_and_query().map_or("/", |target| target.as_str()));
    let answer = service.answer_to(path, query);
    let pieces = match answer.body {
        Body::Full(bytes) => Pieces::Whole(Some(bytes.into())),
        Body::Awaited(_) | Body::Socket(_) => unreachable!("no past moment and no socket is asked for here"),
        Body::Stream(mut stream) => {
            // as our server does: what fits into one piece is sent with its length
            let mut piece = Vec::with_capacity(http::limits::PIECE_BYTES * 2);
            if stream.fill(&mut piece) == Progress::Done {
                Pieces::Whole(Some(piece.into()))
            } else {
                return streamed(answer.content_type, Begun { piece, rest: stream });
            }
        }
    };
    with_type(answer.content_type, pieces)
}

/// A stream whose first piece is there.
struct Begun {
    piece: Vec<u8>,
    rest: Box<dyn Stream>,
}

impl Stream for Begun {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        if self.piece.is_empty() {
            return self.rest.fill(out);
        }
        out.append(&mut self.piece);
        Progress::More
    }
}

fn streamed(content_type: &'static str, begun: Begun) -> Response<Pieces> {
    with_type(content_type, Pieces::Stream(Some(Box::new(begun))))
}

fn with_type(content_type: &'static str, pieces: Pieces) -> Response<Pieces> {
    Response::builder().header("Content-Type", content_type).body(pieces).expect("a response")
}

/// Starts it on two threads; it runs until the program ends.
///
/// # Panics
/// It does not start.
pub(crate) fn start(service: Arc<Service>) -> SocketAddr {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let service = Arc::clone(&service);
            tokio::spawn(async move {
                let answer = service_fn(|request| {
                    let response = respond(&service, &request);
                    async move { Ok::<_, Infallible>(response) }
                });
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
            });
        }
    });
    std::mem::forget(runtime);
    address
}
