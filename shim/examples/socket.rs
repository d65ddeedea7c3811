//! Prints what a stream sends over a WebSocket: `cargo run --example socket 'underlying=SPY&max_days=10'`. It ends
//! after the first whole image of another request.
#![allow(clippy::print_stdout, reason = "it is for people")]

use serde_json::{Value, json};
use std::error::Error;
use tungstenite::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let query = std::env::args().nth(1).unwrap_or_else(|| "underlying=SPY&max_days=10".to_owned());
    let address = std::env::args().nth(2).unwrap_or_else(|| "127.0.0.1:2112".to_owned());
    let connection = std::net::TcpStream::connect(&address)?;
    let (mut socket, _) = tungstenite::client(format!("ws://{address}/l1/stream?{query}"), connection)?;
    let mut images = 0;
    while images < 2 {
        // pings are answered by the library
        let Message::Text(text) = socket.read()? else { continue };
        let event: Value = serde_json::from_str(&text)?;
        println!("{}: {} rows", event["event"], event["rows"].as_array().map_or(0, Vec::len));
        if event["event"] == "image" && event["more"] == false {
            images += 1;
            let other = json!({ "underlying": "KO", "max_days": 10, "fields": ["delta", "svc_vol"] });
            socket.send(Message::text(other.to_string()))?;
        }
    }
    socket.close(None)?;
    Ok(())
}
