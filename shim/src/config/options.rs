//! The options of `serve`, one row each: an option of the command line, an environment variable, a key of
//! `greeksd.toml` and a line of `--print-config`. A new option is a field of [`Config`] with its default, and a row.
//! Never: the origin of a value.

use self::Form::{Flag, List, One};
use super::origin::Origin;
use super::resolved::Config;
use super::value::{self, FEEDS_APART, MB, Shown};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use desk::alerts::deliver::Webhook;
use std::collections::BTreeMap;
use std::time::Duration;

/// Checks one value; the error is a hint for the user.
type Check = fn(&str) -> Result<(), String>;

/// An option of `serve`.
pub(super) struct ServeOption {
    /// Name on the command line and in the file.
    pub(super) key: &'static str,
    /// Environment variable.
    pub(super) variable: &'static str,
    /// Placeholder of the value in the help.
    value: &'static str,
    form: Form,
    /// True if a file in the current folder may not set the option: it concerns access, shown data, files, programs,
    /// memory, or the servers that receive keys. docs/security.md has the list.
    pub(super) is_of_user: bool,
    help: &'static str,
    /// Parses a value and sets it; the error is a hint for the user.
    pub(super) set: fn(&mut Config, &str) -> Result<(), String>,
    /// The value as TOML; `None` if it is not set.
    pub(super) shown: fn(&Config) -> Option<String>,
}

/// Number of values of an option.
#[derive(Clone, Copy)]
enum Form {
    /// One value.
    One,
    /// One value, `true` if it is left out.
    Flag,
    /// Several values: a repeated option, or one text with this separator; each is checked.
    List(char, Check),
}

/// Only the user's own file may set the option.
const USER: bool = true;
/// A file in the current folder, perhaps of somebody else, may set the option, too.
const ANYBODY: bool = false;

/// Setter of an option: a parser and the field of its value, or the first of two functions.
macro_rules! set {
    ([$read:path => $($field:ident).+]) => { |config, text| $read(text).map(|given| config.$($field).+ = given.into()) };
    ([$set:expr; $shown:expr]) => { $set };
}

/// Text of the value of an option: that of its field, or the second of two functions.
macro_rules! shown {
    ([$read:path => $($field:ident).+]) => { |config| config.$($field).+.shown() };
    ([$set:expr; $shown:expr]) => { $shown };
}

/// Makes [`OPTIONS`] from rows: key, variable, placeholder, form, who may set it, parser and field, help.
macro_rules! options {
    ($($key:literal, $variable:literal, $value:literal, $form:expr, $of:expr, $access:tt, $help:literal;)+) => {
        /// Every option of `serve`, in the order of the help.
        pub(super) const OPTIONS: &[ServeOption] = &[$(ServeOption {
            key: $key,
            variable: $variable,
            value: $value,
            form: $form,
            is_of_user: $of,
            help: $help,
            set: set!($access),
            shown: shown!($access),
        }),+];
    };
}

options! {
    "listen", "GREEKSD_LISTEN", "ADDRESS:PORT", List(',', |item| value::address(item).map(drop)), ANYBODY,
        [value::addresses => listen],
        "Addresses to listen on; repeatable, or separated by commas [default: 127.0.0.1:2112,[::1]:2112]";
    "allow-remote", "GREEKSD_ALLOW_REMOTE", "BOOL", Flag, USER, [value::flag => allow_remote],
        "Allow --listen and --feed tcp: to name addresses that other machines can reach";
    "feed", "GREEKSD_FEED", "SPEC", List(FEEDS_APART, |item| value::feed(item).map(drop)), ANYBODY, [
        |config, text| value::feeds(text).map(|given| config.feeds = given);
        |config| value::shown_feeds(&config.feeds)
    ],
        "Source of quotes [default: sim]; repeatable: where several feeds have an item, the first one is used. Simulated: sim, sim:full (6,000 names), sim:full,scale=1.3, sim:seed=7. Recorded: dir:PATH (one day), history:DIR (many days). Pushed to greeksd: tcp:PORT, tcp:ADDRESS:PORT, stdin:. Polled over HTTP: cboe:NAMES (15 minutes delayed, for personal use), theta:NAMES, tradier:NAMES, massive:NAMES, alpaca:NAMES, schwab:NAMES, where NAMES is a list such as SPY,QQQ; rates only: treasury:; dividends only: nasdaq:NAMES. Streamed: tasty:NAMES; in builds with the feature databento-live: databento:NAMES. docs/feeds.md describes each feed";
    "key-file", "GREEKSD_KEY_FILE", "FILE", One, USER, [value::folder => key_file],
        "File with vendors' API keys, one NAME=value per line, such as GREEKSD_TRADIER_TOKEN=...; environment variables of the same names override it";
    "feed-ca", "GREEKSD_FEED_CA", "FILE", One, USER, [value::folder => feed_ca],
        "CA certificates (PEM) to verify vendors' servers with, instead of those of the system";
    "now", "GREEKSD_NOW", "TIME", One, ANYBODY, [value::instant => now],
        "Fix the market clock at this instant (RFC 3339)";
    "clock", "GREEKSD_CLOCK", "TIME", One, ANYBODY, [value::start => clock],
        "Start the market clock at this instant (Eastern time unless an offset is given: 2026-11-20T09:25)";
    "speed", "GREEKSD_SPEED", "TIMES", One, ANYBODY, [value::speed => speed],
        "Speed of the clock that --clock starts, as a multiple of real time, up to 10000 [default: 1]";
    "refresh", "GREEKSD_REFRESH", "SECONDS", One, ANYBODY, [
        |config, text| value::refresh(text).map(|given| config.refresh = Duration::from_secs_f64(given));
        |config| config.refresh.as_secs_f64().shown()
    ],
        "Minimum time between two snapshots, 0.1 to 5 [default: 1]";
    "threads", "GREEKSD_THREADS", "N", One, ANYBODY, [value::threads => threads],
        "Number of compute threads [default: one per core]";
    "state-dir", "GREEKSD_STATE_DIR", "DIR", One, USER, [value::folder => state_dir],
        "Folder for the state that survives a restart: last values, market, rates [default: none for sim, else the platform's state folder]";
    "record", "GREEKSD_RECORD", "DIR", One, USER, [value::folder => record],
        "Record incoming quotes, prices, dividends and rates, one compressed file per day; --feed dir:DIR reads them";
    "record-keep", "GREEKSD_RECORD_KEEP", "DAYS|BYTES", One, USER, [value::record_keep => record_keep],
        "How much of a recording to keep, as days or bytes: 30d, 20GB; the oldest days are removed, the newest one never [default: everything]";
    "overrides", "GREEKSD_OVERRIDES", "FILE", One, USER, [value::folder => overrides],
        "CSV file of overrides of feeds and quotes: dividends, borrow, rates, excluded contracts; reloaded when it changes";
    "rates", "GREEKSD_RATES", "MODE", One, USER, [value::rates => rates],
        "Discount curves: auto (from the feeds, else implied by European chains, else built in) or zero [default: auto]";
    "log", "GREEKSD_LOG", "FORM", One, ANYBODY, [value::log => log],
        "Log format: text or json [default: text]";
    "log-level", "GREEKSD_LOG_LEVEL", "LEVEL", One, ANYBODY, [value::log_level => log_level],
        "Log level: off, error, warn, info, debug or trace [default: info]";
    "log-file", "GREEKSD_LOG_FILE", "FILE", One, USER, [value::folder => log_file],
        "Write the log to this file instead of standard error; at 10 MB it is renamed to FILE.old and a new one begun";
    "allow-host", "GREEKSD_ALLOW_HOST", "NAME", List(',', |item| value::host(item).map(drop)), USER,
        [value::hosts => allow_hosts],
        "Host name to accept in requests, besides IP addresses, localhost and *.localhost; repeatable";
    "old-snapshots-mb", "GREEKSD_OLD_SNAPSHOTS_MB", "MB", One, USER, [
        |config, text| value::megabytes(text).map(|given| config.old_snapshot_bytes = given as u64 * MB);
        |config| Some((config.old_snapshot_bytes / MB).to_string())
    ],
        "Memory limit for old snapshots that slow readers still hold, in MB, 16 to 1000000; above it, requests for several names get status 503 [default: 1000]";
    "response-cache-mb", "GREEKSD_RESPONSE_CACHE_MB", "MB", One, USER, [
        |config, text| value::cache_megabytes(text).map(|given| config.response_cache_bytes = given * MB as usize);
        |config| Some((config.response_cache_bytes / MB as usize).to_string())
    ],
        "Memory limit of the response cache, in MB, 0 to 100000 [default: 64]";
    "gzip-loopback", "GREEKSD_GZIP_LOOPBACK", "BOOL", Flag, USER, [value::flag => gzip_loopback],
        "Also compress responses to clients on this machine that accept gzip; remote clients always get it [default: false]";
    "show-quotes", "GREEKSD_SHOW_QUOTES", "BOOL", Flag, USER, [value::flag => show_quotes],
        "Serve the feed's quotes: layers fill bid, ask, sizes, mid and quote time, and /l1/greeks accepts greeks=quote";
    "positions", "GREEKSD_POSITIONS", "FILE", One, USER, [value::folder => positions],
        "CSV file of positions (account,osym or symbol,quantity,price,beta), served by /l1/positions and usable in /l1/scenario; reloaded when it changes";
    "allow-positions", "GREEKSD_ALLOW_POSITIONS", "BOOL", Flag, USER, [value::flag => allow_positions],
        "Let programs on this machine replace the positions: PUT /l1/positions with a CSV body of up to 8 MB";
    "alerts", "GREEKSD_ALERTS", "FILE", One, USER, [value::folder => alerts],
        "File of alert rules, one comparison a line, such as: SPY atm_vol 30d > 20; hits go to the log and to /l1/stream?alerts=true; reloaded when it changes";
    "alert-command", "GREEKSD_ALERT_COMMAND", "PROGRAM", One, USER, [value::folder => alert_targets.command],
        "Program to run at each hit of an alert rule, with the hit as JSON as its argument; it may take 10 s";
    "alert-webhook", "GREEKSD_ALERT_WEBHOOK", "URL", One, USER, [Webhook::parse => alert_targets.webhook],
        "Address of this machine to post each hit of an alert rule to as JSON, such as http://127.0.0.1:8080/alert";
    "history-mb", "GREEKSD_HISTORY_MB", "MB", One, USER, [
        |config, text| value::megabytes(text).map(|given| config.history_bytes = given as u64 * MB);
        |config| Some((config.history_bytes / MB).to_string())
    ],
        "Memory limit for computed past days (--feed history:DIR), in MB, 16 to 1000000; the least recently used days are dropped, and computed again on request [default: 1000]";
}

impl ServeOption {
    /// The option for clap: its values are checked, and stay text.
    fn argument(&'static self) -> Arg {
        let check = move |text: &str| match self.form {
            List(_, check) => check(text).map(|()| text.to_owned()),
            One | Flag => (self.set)(&mut Config::default(), text).map(|()| text.to_owned()),
        };
        let argument = Arg::new(self.key)
            .long(self.key)
            .env(self.variable)
            .hide_env_values(true)
            .value_name(self.value)
            .help(self.help)
            .value_parser(check);
        match self.form {
            One => argument,
            Flag => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
            List(separator, _) => argument.action(clap::ArgAction::Append).value_delimiter(separator),
        }
    }
}

/// Values that the command line or the environment gave, as text, by key.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenOptions(BTreeMap<&'static str, (String, Origin)>);

impl GivenOptions {
    /// The value of an option and its origin.
    pub(super) fn get(&self, key: &str) -> Option<&(String, Origin)> {
        self.0.get(key)
    }
}

impl Args for GivenOptions {
    fn augment_args(command: Command) -> Command {
        command.args(OPTIONS.iter().map(ServeOption::argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GivenOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for option in OPTIONS {
            let origin = match matches.value_source(option.key) {
                Some(ValueSource::CommandLine) => Origin::CommandLine,
                Some(ValueSource::EnvVariable) => Origin::Environment(option.variable),
                _ => continue,
            };
            let texts: Vec<&str> = matches.get_many(option.key).unwrap_or_default().map(String::as_str).collect();
            let separator = if let List(separator, _) = option.form { separator.to_string() } else { String::new() };
            self.0.insert(option.key, (texts.join(&separator), origin));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_list_what_a_file_of_the_current_folder_may_not_set() {
        let page = include_str!("../../../docs/security.md");
        let row = page.lines().find(|line| line.starts_with("| who writes `greeksd.toml` in the folder")).unwrap();
        let (may, may_not) = row.split_once("| not ").unwrap();
        let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let keys = |is_of_user| OPTIONS.iter().filter(move |of| of.is_of_user == is_of_user).map(|of| of.key);
        let listed = quoted(may_not.split(", nor a feed").next().unwrap());
        assert_eq!(listed, keys(true).collect::<Vec<_>>(), "may not be set");
        let listed = quoted(may.rsplit('|').next().unwrap());
        assert_eq!(listed, keys(false).collect::<Vec<_>>(), "may be set");
        for key in
            ["allow", "alert", "record", "positions", "overrides", "state", "key", "mb", "file", "quotes", "rates"]
        {
            assert!(!keys(false).any(|own| own.contains(key)), "{key}");
        }
    }
}
