//! Streams over a WebSocket, as the server hands them messages: text and tables equal polling, requests change.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::scenario::{book, chains, desk, service_and_desk, service_of, snapshot};
use crate::support::market::get_from;
use crate::tables::{body, rows_of};
use arrow_ipc::reader::StreamReader;
use desk::stream::desk::StreamAsked;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use http::{Body, Said, Talk};
use serde_json::{Map, Value};
use shim::app::Service;
use std::sync::Arc;
use std::time::Duration;

fn open(service: &Service, query: &str) -> Box<dyn Talk> {
    let answer = service.stream(StreamAsked { query, last: None, is_socket: true });
    let Body::Socket(talk) = answer.body else { panic!("no socket: {}", answer.status) };
    assert_eq!(answer.status, 101);
    talk
}

/// Facts and rows of the messages until there is nothing more to say.
fn messages(talk: &mut dyn Talk) -> Vec<(Value, Vec<Map<String, Value>>)> {
    let (mut messages, mut bytes) = (Vec::new(), Vec::new());
    loop {
        match talk.say(&mut bytes) {
            Said::Piece { is_last: false, .. } => {}
            Said::Piece { is_binary: false, .. } => {
                let mut facts: Value = serde_json::from_slice(&bytes).unwrap();
                let rows = facts.as_object_mut().unwrap().remove("rows").unwrap_or(Value::Array(Vec::new()));
                let rows = rows.as_array().unwrap().iter().map(|row| row.as_object().unwrap().clone()).collect();
                messages.push((facts, rows));
                bytes.clear();
            }
            Said::Piece { is_binary: true, .. } => {
                let reader = StreamReader::try_new(&bytes[..], None).unwrap();
                let facts = serde_json::from_str(&reader.schema().metadata()["greeksd.event"]).unwrap();
                messages.push((facts, rows_of(&reader.map(Result::unwrap).collect::<Vec<_>>())));
                bytes.clear();
            }
            Said::Nothing => return messages,
            Said::Ended(why) => panic!("ended: {why}"),
        }
    }
}

fn all_rows(messages: &[(Value, Vec<Map<String, Value>>)]) -> Vec<Map<String, Value>> {
    messages.iter().flat_map(|(_, rows)| rows.clone()).collect()
}

/// Compares columns of rows: numbers as text shows them.
#[track_caller]
fn assert_same(found: &[Map<String, Value>], wanted: &[Map<String, Value>], names: &str) {
    assert!(!wanted.is_empty() && found.len() == wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        for name in names.split(',') {
            let is_same = match (found[name].as_f64(), wanted[name].as_f64()) {
                (Some(a), Some(b)) => (a - b).abs() <= 1.1e-6,
                _ => found[name] == wanted[name],
            };
            assert!(is_same, "{}: {name} {} is not {}", wanted["osym"], found[name], wanted[name]);
        }
    }
}

const FIELDS: &str = "svc_theo,delta,und_price,borr_rate,density,prob_itm";

#[test]
fn text_and_tables_equal_polling_and_the_event_stream() {
    let (service, published) = service_of("symbol,quantity\n");
    let query = format!("underlying=KO,SPX&max_days=60&every=100ms&fields={FIELDS}");
    let (mut text, mut table) = (open(&service, &query), open(&service, &format!("{query}&format=arrow")));
    let (texts, tables) = (messages(text.as_mut()), messages(table.as_mut()));
    // the rows of the table have what names a contract, too, as those of polling
    let target = "/l1/greeks?underlying=KO,SPX&max_days=60&greeks=core,chain,prob&format=arrow";
    let polled = body(&service, target).1;
    let polled = rows_of(&StreamReader::try_new(&polled[..], None).unwrap().map(Result::unwrap).collect::<Vec<_>>());
    let whole = format!("underlying,root,expiry,strike,right,osym,{FIELDS}");
    assert_same(&all_rows(&tables), &polled, &whole);
    assert_eq!(all_rows(&tables)[0].len(), whole.split(',').count());
    let short = format!("osym,{FIELDS}");
    assert_same(&all_rows(&texts), &polled, &short);
    for got in [&texts, &tables] {
        let (last, before) = got.split_last().unwrap();
        assert!(before.iter().all(|(facts, _)| facts["more"] == true && facts.get("id").is_none()));
        assert_eq!(
            (&last.0["event"], &last.0["more"], &last.0["snapshot"]),
            (&"image".into(), &false.into(), &1.into())
        );
        assert!(last.0["id"].as_str().unwrap().ends_with("-1"));
    }
    // one row changes, one contract goes
    let mut chain = Chain::clone(&chains()[0]);
    chain.columns.get_mut(Col::SvcTheo)[3] += 0.5;
    let row = chain.slices[0].rows.start as usize;
    chain.strike_milli[row] -= 1;
    published.store(Arc::new(Snapshot::new(5, vec![Arc::new(chain), Arc::clone(&chains()[1])], vec![])));
    std::thread::sleep(Duration::from_millis(120));
    let (texts, tables) = (messages(text.as_mut()), messages(table.as_mut()));
    assert_eq!((texts.len(), tables.len()), (1, 1));
    assert_eq!(texts[0].0, tables[0].0, "{}", texts[0].0);
    assert_eq!((&texts[0].0["event"], &texts[0].0["missed"]), (&"update".into(), &3.into()));
    assert_eq!((texts[0].1.len(), texts[0].0["gone"].as_array().unwrap().len()), (2, 1));
    assert_same(&texts[0].1, &tables[0].1, &short);
}

#[test]
fn metrics_come_as_they_change() {
    let (service, published) = service_of("symbol,quantity\n");
    let columns = "und_price,iv30d,event_state,rv20";
    let mut talk = open(&service, &format!("underlying=KO,SPX,NOSUCH&every=100ms&metrics={columns}"));
    let first = messages(talk.as_mut());
    assert!(first.len() == 1 && first[0].0["event"] == "metrics" && first[0].0["more"] == false, "{first:?}");
    let polled = get_from(&service, "/l1/metrics?underlying=KO,SPX").body;
    let polled: Vec<Map<String, Value>> = serde_json::from_str(&polled).unwrap();
    assert_same(&first[0].1, &polled, &format!("underlying,{columns}"));
    assert_eq!(first[0].1[0].len(), 5);
    // the same chains again, and another one of a name
    let pause = || std::thread::sleep(Duration::from_millis(120));
    let mut chain = Chain::clone(&chains()[0]);
    let same = Snapshot::new(2, vec![Arc::new(chain.clone()), Arc::clone(&chains()[1])], vec![]);
    published.store(Arc::new(same));
    pause();
    assert_eq!(messages(talk.as_mut()), []);
    chain.slices = chain.slices.iter().cloned().map(|slice| Slice { und_price: 63.5, ..slice }).collect();
    published.store(Arc::new(Snapshot::new(3, vec![Arc::new(chain), Arc::clone(&chains()[1])], vec![])));
    pause();
    let changed = messages(talk.as_mut());
    assert!(changed.len() == 1 && changed[0].1.len() == 1, "{changed:?}");
    assert_eq!(changed[0].1[0]["und_price"], 63.5);
    // contracts come too where their fields are named
    talk.hear(r#"{"underlying":"KO","max_days":30,"fields":"delta","metrics":"iv30d"}"#);
    let both = messages(talk.as_mut());
    let has = |name: &str| both.iter().any(|(facts, _)| facts["event"] == name);
    assert!(has("metrics") && has("image"), "{both:?}");
}

#[test]
fn a_request_changes_without_another_connection() {
    let (service, _) = service_of("symbol,quantity\nKO,1\n");
    let mut talk = open(&service, "");
    assert_eq!(messages(talk.as_mut()), [], "nothing is asked for yet");
    let mut ask = |message: &str| {
        talk.hear(message);
        messages(talk.as_mut())
    };
    let event = |facts: &Value| facts["event"].as_str().unwrap().to_owned();
    let first = ask(r#"{"underlying":"KO","max_days":30,"fields":["delta","svc_vol"]}"#);
    assert_eq!(first[0].0, serde_json::json!({"event": "subscribed"}));
    assert!(first[1..].iter().all(|(facts, _)| event(facts) == "image"));
    let ko = all_rows(&first).len();
    let other = ask(r#"{"underlying":"XOM,NOSUCH","max_days":30,"positions":"total"}"#);
    assert!(other[0].0["warning"].as_str().unwrap().starts_with("not served: NOSUCH "), "{}", other[0].0);
    let events: Vec<String> = other.iter().map(|(facts, _)| event(facts)).collect();
    assert_eq!(events[..3], ["subscribed", "positions", "image"]);
    assert!(all_rows(&other[2..]).iter().all(|row| row["osym"].as_str().unwrap().starts_with("XOM ")));
    // what is refused leaves what is sent
    for (message, status, why) in [
        ("no object", 400, "a message is a JSON object"),
        (r#"{"underlying":"KO","nothing":1}"#, 400, "unknown parameter: nothing"),
        (r#"{"underlying":"*"}"#, 400, "is not streamed"),
    ] {
        let got = ask(message);
        assert_eq!(
            (got.len(), &got[0].0["event"], &got[0].0["status"]),
            (1, &"error".into(), &status.into()),
            "{message}"
        );
        assert!(got[0].0["error"].as_str().unwrap().contains(why), "{message}: {}", got[0].0);
    }
    assert_eq!(ask("{}"), [(serde_json::json!({"event": "subscribed"}), Vec::new())]);
    let again = ask(r#"{"underlying":"KO","max_days":30}"#);
    assert_eq!(all_rows(&again).len(), ko, "an image again");
}

#[test]
fn a_change_is_bounded_as_a_stream_is() {
    let (service, _) = service_of("symbol,quantity\n");
    let fields = Col::ALL.iter().map(|col| col.name()).collect::<Vec<_>>().join(",");
    let large = format!(r#"{{"underlying":"KO,SPX,XOM","fields":"{fields}"}}"#);
    let mut others = Vec::new();
    let refused = loop {
        let mut talk = open(&service, "underlying=KO&center=atm");
        messages(talk.as_mut());
        talk.hear(&large);
        let mut answer = Vec::new();
        talk.say(&mut answer);
        if String::from_utf8_lossy(&answer).contains("subscribed") {
            assert!(others.len() < 512);
            others.push(talk);
        } else {
            break talk;
        }
    };
    let held = service.answer_to("/metrics", "");
    let text = crate::support::market::read(held).body;
    let held = text.lines().find_map(|line| line.strip_prefix("greeksd_memory_bytes{of=\"streams\"} ")).unwrap();
    assert!((200 << 20..=256 << 20).contains(&held.parse::<usize>().unwrap()), "{held}");
    drop((others, refused));
    let text = crate::support::market::read(service.answer_to("/metrics", "")).body;
    assert!(text.contains("greeksd_memory_bytes{of=\"streams\"} 0\n"));
}

#[test]
fn a_long_message_is_sent_in_pieces_and_the_slowest_lose_it() {
    let (service, _, desk) = service_and_desk(desk(&book(6000)), snapshot(1));
    let begin = || open(&service, "positions=contract&every=100ms");
    let (facts, rows) = messages(begin().as_mut()).remove(0);
    assert_eq!((&facts["event"], rows.len()), (&"positions".into(), 5000));
    let mut slow = Vec::new();
    for number in 2..40 {
        let (mut talk, mut piece) = (begin(), Vec::new());
        assert_eq!(talk.say(&mut piece), Said::Piece { is_binary: false, is_last: false });
        assert!(piece.len() < 128 << 10);
        slow.push(talk);
        desk.value(&snapshot(number));
    }
    assert!(matches!(slow[0].say(&mut Vec::new()), Said::Ended(_)), "it may connect again");
}
