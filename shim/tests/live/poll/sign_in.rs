//! Sign-ins of brokers: the token file, its renewal, and its end in words.

use super::server::{Act, Server, say, status};
use super::vendors::{KEY, TestedVendor, VendorState, environment};
use super::{failures, start, wait_for_spot};
use jiff::{SignedDuration, Timestamp};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

fn token_file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("greeksd-sign-in-{name}-{}.json", std::process::id()));
    host::private::replace(&path, |file| std::io::Write::write_all(file, text.as_bytes())).unwrap();
    path
}

fn with_file(path: &Path) -> Vec<(&'static str, String)> {
    let mut given = environment();
    given.iter_mut().filter(|(name, _)| name.ends_with("_TOKEN_FILE")).for_each(|(_, value)| {
        *value = path.display().to_string();
    });
    given
}

fn schwab(server: &Server, file: &Path) -> crate::support::daemon::Daemon {
    let given = with_file(file);
    let given: Vec<(&str, &str)> = given.iter().map(|(name, value)| (*name, value.as_str())).collect();
    start(&format!("schwab:ACME,every=0.2,rate=6000@http://{}", server.address), &[], &given)
}

fn market() -> VendorState {
    VendorState::whole(100.0, "2026-11-20T15:10:00-05:00".parse().unwrap())
}

fn answer(target: &str) -> Act {
    say(TestedVendor::Schwab.answer(target, market()))
}

#[test]
fn a_token_is_renewed_where_it_is_not_taken_and_the_next_refresh_token_is_kept() {
    let file = token_file("next", &format!("{{\"token\":{{\"refresh_token\":\"{KEY}\"}}}}"));
    let (tokens, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let server = Server::start(move |target| match target {
        "/v1/oauth/token" => {
            let i = tokens.fetch_add(1, Ordering::Relaxed);
            say(format!("{{\"access_token\":\"a{i}\",\"refresh_token\":\"next{i}\",\"expires_in\":1800}}"))
        }
        // once in the middle of sweeps
        _ if refused.fetch_add(1, Ordering::Relaxed) == 7 => status(401),
        _ => answer(target),
    });
    let mut daemon = schwab(&server, &file);
    wait_for_spot(&daemon, 100.0);
    let renewed = || server.asked().iter().filter(|(_, target, _)| target == "/v1/oauth/token").count();
    let health = daemon.wait("a renewal", |_| renewed() == 2 && server.asked().len() > 14);
    assert_eq!((failures(&health, "refused"), failures(&health, "sign_in")), (0, 0), "{health}");
    let heads: Vec<String> = server.asked().into_iter().map(|(_, _, head)| head.to_lowercase()).collect();
    assert!(heads[0].contains("authorization: basic ") && heads[1].contains("authorization: bearer a0"), "{heads:?}");
    assert!(heads.last().unwrap().contains("authorization: bearer a1"), "{heads:?}");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("\"refresh_token\":\"next1\"") && kept.contains("refresh_token_issued"), "{kept}");
    assert!(!host::private::is_open_to_others(&file));
    let said = daemon.stop().1;
    assert!(!said.contains("next1") && !said.contains(KEY), "{said}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn the_end_of_a_sign_in_is_said_in_plain_words_and_another_file_ends_it() {
    let old = Timestamp::now() - SignedDuration::from_hours(24 * 9);
    let file = token_file("ended", &format!("{{\"refresh_token\":\"old\",\"refresh_token_issued\":\"{old}\"}}"));
    let server = Server::start(|target| if target == "/v1/oauth/token" { status(400) } else { answer(target) });
    let mut daemon = schwab(&server, &file);
    let health = daemon.wait("sign_in", |health| failures(health, "sign_in") == 1);
    assert_eq!(health["feeds"][0]["state"], "refused", "{health}");
    let said = daemon.stop().1;
    let wanted = "schwab: the sign-in has ended: it lasts 7 days, and is 9 days old. Sign in again";
    assert!(said.contains(wanted) && said.contains("docs/feeds/brokers.md") && !said.contains("\"old\""), "{said}");
    // a day before its end there is a reminder
    let soon = Timestamp::now() - SignedDuration::from_hours(24 * 6 + 12);
    let file = token_file("ended", &format!("{{\"refresh_token\":\"{KEY}\",\"refresh_token_issued\":\"{soon}\"}}"));
    server.always(answer);
    let daemon = schwab(&server, &file);
    wait_for_spot(&daemon, 100.0);
    let said = daemon.stop().1;
    assert_eq!(said.matches("the sign-in ends in about 11 hours").count(), 1, "{said}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_token_file_that_is_none_and_one_that_others_read_are_said() {
    let server = Server::start(answer);
    let file = token_file("none", "not a token");
    let mut daemon = schwab(&server, &file);
    daemon.wait("sign_in", |health| failures(health, "sign_in") == 1);
    let said = daemon.stop().1;
    assert!(said.contains("it has no refresh_token") && server.asked().is_empty(), "{said}");
    let file = token_file("none", &format!("{{\"refresh_token\":\"{KEY}\"}}"));
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let daemon = schwab(&server, &file);
    wait_for_spot(&daemon, 100.0);
    let said = daemon.stop().1;
    assert!(said.contains("chmod 600") && !said.contains(KEY), "{said}");
    std::fs::remove_file(&file).unwrap();
}
