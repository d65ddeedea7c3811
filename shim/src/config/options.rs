//! The options of `serve`, one row each: an option of the command line, an environment variable, a key of
//! `greeksd.toml` and a line of `--print-config`. A new option is a field of [`Config`] with its default, and a row.
//! Never: the origin of a value.

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
    /// Checks one item of a list; `None`: `set` checks it.
    check: Option<Check>,
    /// Parses a value and sets it; the error is a hint for the user.
    pub(super) set: fn(&mut Config, &str) -> Result<(), String>,
    /// The value as TOML; `None` if it is not set.
    pub(super) shown: fn(&Config) -> Option<String>,
}

/// Number of values of an option, and their separator.
#[derive(Clone, Copy)]
enum Form {
    /// One value.
    One,
    /// One value, `true` if it is left out.
    Flag,
    /// Several values: a repeated option, or one text with this separator.
    List(char),
}

/// Every option of `serve`, in the order of the help.
pub(super) const OPTIONS: &[ServeOption] = &[
    ServeOption {
        key: "listen",
        variable: "GREEKSD_LISTEN",
        value: "ADDRESS:PORT",
        form: Form::List(','),
        is_of_user: false,
        help: "Addresses to listen on; repeatable, or separated by commas [default: 127.0.0.1:2112,[::1]:2112]",
        check: Some(|item| value::address(item).map(drop)),
        set: |config, text| value::all(text, value::address).map(|given| config.listen = given),
        shown: |config| Some(value::shown_list(&config.listen)),
    },
    ServeOption {
        key: "allow-remote",
        variable: "GREEKSD_ALLOW_REMOTE",
        value: "BOOL",
        form: Form::Flag,
        is_of_user: true,
        help: "Allow --listen and --feed tcp: to name addresses that other machines can reach",
        check: None,
        set: |config, text| value::flag(text).map(|given| config.allow_remote = given),
        shown: |config| Some(config.allow_remote.shown()),
    },
    ServeOption {
        key: "feed",
        variable: "GREEKSD_FEED",
        value: "SPEC",
        form: Form::List(FEEDS_APART),
        is_of_user: false,
        help: "Source of quotes [default: sim]; repeatable: where several feeds have an item, the first one is used. Simulated: sim, sim:full (6,000 names), sim:full,scale=1.3, sim:seed=7. Recorded: dir:PATH (one day), history:DIR (many days). Pushed to greeksd: tcp:PORT, tcp:ADDRESS:PORT, stdin:. Polled over HTTP: cboe:NAMES (15 minutes delayed, for personal use), theta:NAMES, tradier:NAMES, massive:NAMES, alpaca:NAMES, where NAMES is a list such as SPY,QQQ; rates only: treasury:; dividends only: nasdaq:NAMES. In builds with the feature databento-live: databento:NAMES. docs/feeds.md describes each feed",
        check: None,
        set: |config, text| value::feeds(text).map(|given| config.feeds = given),
        shown: |config| Some(value::shown_feeds(&config.feeds)),
    },
    ServeOption {
        key: "key-file",
        variable: "GREEKSD_KEY_FILE",
        value: "FILE",
        form: Form::One,
        is_of_user: true,
        help: "File with vendors' API keys, one NAME=value per line, such as GREEKSD_TRADIER_TOKEN=...; environment variables of the same names override it",
        check: None,
        set: |config, text| value::folder(text).map(|given| config.key_file = Some(given)),
        shown: |config| config.key_file.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "feed-ca",
        variable: "GREEKSD_FEED_CA",
        value: "FILE",
        form: Form::One,
        is_of_user: true,
        help: "CA certificates (PEM) to verify vendors' servers with, instead of those of the system",
        check: None,
        set: |config, text| value::folder(text).map(|given| config.feed_ca = Some(given)),
        shown: |config| config.feed_ca.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "now",
        variable: "GREEKSD_NOW",
        value: "TIME",
        form: Form::One,
        is_of_user: false,
        help: "Fix the market clock at this instant (RFC 3339)",
        check: None,
        set: |config, text| value::instant(text).map(|given| config.now = Some(given)),
        shown: |config| config.now.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "clock",
        variable: "GREEKSD_CLOCK",
        value: "TIME",
        form: Form::One,
        is_of_user: false,
        help: "Start the market clock at this instant (Eastern time unless an offset is given: 2026-11-20T09:25)",
        check: None,
        set: |config, text| value::start(text).map(|given| config.clock = Some(given)),
        shown: |config| config.clock.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "speed",
        variable: "GREEKSD_SPEED",
        value: "TIMES",
        form: Form::One,
        is_of_user: false,
        help: "Speed of the clock that --clock starts, as a multiple of real time, up to 10000 [default: 1]",
        check: None,
        set: |config, text| value::speed(text).map(|given| config.speed = Some(given)),
        shown: |config| config.speed.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "refresh",
        variable: "GREEKSD_REFRESH",
        value: "SECONDS",
        form: Form::One,
        is_of_user: false,
        help: "Minimum time between two snapshots, 0.1 to 5 [default: 1]",
        check: None,
        set: |config, text| value::refresh(text).map(|given| config.refresh = Duration::from_secs_f64(given)),
        shown: |config| Some(config.refresh.as_secs_f64().shown()),
    },
    ServeOption {
        key: "threads",
        variable: "GREEKSD_THREADS",
        value: "N",
        form: Form::One,
        is_of_user: false,
        help: "Number of compute threads [default: one per core]",
        check: None,
        set: |config, text| value::threads(text).map(|given| config.threads = given),
        shown: |config| Some(config.threads.shown()),
    },
    ServeOption {
        key: "state-dir",
        variable: "GREEKSD_STATE_DIR",
        value: "DIR",
        form: Form::One,
        is_of_user: true,
        help: "Folder for the state that survives a restart: last values, market, rates [default: none for sim, else the platform's state folder]",
        check: None,
        set: |config, text| value::folder(text).map(|given| config.state_dir = Some(given)),
        shown: |config| config.state_dir.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "record",
        variable: "GREEKSD_RECORD",
        value: "DIR",
        form: Form::One,
        is_of_user: true,
        help: "Record incoming quotes, prices, dividends and rates, one compressed file per day; --feed dir:DIR reads them",
        check: None,
        set: |config, text| value::folder(text).map(|given| config.record = Some(given)),
        shown: |config| config.record.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "record-keep",
        variable: "GREEKSD_RECORD_KEEP",
        value: "DAYS|BYTES",
        form: Form::One,
        is_of_user: true,
        help: "How much of a recording to keep, as days or bytes: 30d, 20GB; the oldest days are removed, the newest one never [default: everything]",
        check: None,
        set: |config, text| value::record_keep(text).map(|given| config.record_keep = Some(given)),
        shown: |config| config.record_keep.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "overrides",
        variable: "GREEKSD_OVERRIDES",
        value: "FILE",
        form: Form::One,
        is_of_user: true,
        help: "CSV file of overrides of feeds and quotes: dividends, borrow, rates, excluded contracts; reloaded when it changes",
        check: None,
        set: |config, text| value::folder(text).map(|given| config.overrides = Some(given)),
        shown: |config| config.overrides.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "rates",
        variable: "GREEKSD_RATES",
        value: "MODE",
        form: Form::One,
        is_of_user: true,
        help: "Discount curves: auto (from the feeds, else implied by European chains, else built in) or zero [default: auto]",
        check: None,
        set: |config, text| value::rates(text).map(|given| config.rates = given),
        shown: |config| Some(config.rates.shown()),
    },
    ServeOption {
        key: "log",
        variable: "GREEKSD_LOG",
        value: "FORM",
        form: Form::One,
        is_of_user: false,
        help: "Log format: text or json [default: text]",
        check: None,
        set: |config, text| value::log(text).map(|given| config.log = given),
        shown: |config| Some(config.log.shown()),
    },
    ServeOption {
        key: "log-level",
        variable: "GREEKSD_LOG_LEVEL",
        value: "LEVEL",
        form: Form::One,
        is_of_user: false,
        help: "Log level: off, error, warn, info, debug or trace [default: info]",
        check: None,
        set: |config, text| value::log_level(text).map(|given| config.log_level = given),
        shown: |config| Some(config.log_level.shown()),
    },
    ServeOption {
        key: "log-file",
        variable: "GREEKSD_LOG_FILE",
        value: "FILE",
        form: Form::One,
        is_of_user: true,
        help: "Write the log to this file instead of standard error; at 10 MB it is renamed to FILE.old and a new one begun",
        check: None,
        set: |config, text| value::folder(text).map(|given| config.log_file = Some(given)),
        shown: |config| config.log_file.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "allow-host",
        variable: "GREEKSD_ALLOW_HOST",
        value: "NAME",
        form: Form::List(','),
        is_of_user: true,
        help: "Host name to accept in requests, besides IP addresses, localhost and *.localhost; repeatable",
        check: Some(|item| value::host(item).map(drop)),
        set: |config, text| value::all(text, value::host).map(|given| config.allow_hosts = given),
        shown: |config| Some(value::shown_list(&config.allow_hosts)),
    },
    ServeOption {
        key: "old-snapshots-mb",
        variable: "GREEKSD_OLD_SNAPSHOTS_MB",
        value: "MB",
        form: Form::One,
        is_of_user: true,
        help: "Memory limit for old snapshots that slow readers still hold, in MB, 16 to 1000000; above it, requests for several names get status 503 [default: 1000]",
        check: None,
        set: |config, text| value::megabytes(text).map(|given| config.old_snapshot_bytes = given as u64 * MB),
        shown: |config| Some((config.old_snapshot_bytes / MB).to_string()),
    },
    ServeOption {
        key: "response-cache-mb",
        variable: "GREEKSD_RESPONSE_CACHE_MB",
        value: "MB",
        form: Form::One,
        is_of_user: true,
        help: "Memory limit of the response cache, in MB, 0 to 100000 [default: 64]",
        check: None,
        set: |config, text| value::cache_megabytes(text).map(|given| config.response_cache_bytes = given * MB as usize),
        shown: |config| Some((config.response_cache_bytes / MB as usize).to_string()),
    },
    ServeOption {
        key: "gzip-loopback",
        variable: "GREEKSD_GZIP_LOOPBACK",
        value: "BOOL",
        form: Form::Flag,
        is_of_user: true,
        help: "Also compress responses to clients on this machine that accept gzip; remote clients always get it [default: false]",
        check: None,
        set: |config, text| value::flag(text).map(|given| config.gzip_loopback = given),
        shown: |config| Some(config.gzip_loopback.shown()),
    },
    ServeOption {
        key: "show-quotes",
        variable: "GREEKSD_SHOW_QUOTES",
        value: "BOOL",
        form: Form::Flag,
        is_of_user: true,
        help: "Serve the feed's quotes: layers fill bid, ask, sizes, mid and quote time, and /l1/greeks accepts greeks=quote",
        check: None,
        set: |config, text| value::flag(text).map(|given| config.show_quotes = given),
        shown: |config| Some(config.show_quotes.shown()),
    },
    ServeOption {
        key: "positions",
        variable: "GREEKSD_POSITIONS",
        value: "FILE",
        form: Form::One,
        is_of_user: true,
        help: "CSV file of positions (account,osym or symbol,quantity,price,beta), served by /l1/positions and usable in /l1/scenario; reloaded when it changes",
        check: None,
        set: |config, text| value::folder(text).map(|given| config.positions = Some(given)),
        shown: |config| config.positions.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "allow-positions",
        variable: "GREEKSD_ALLOW_POSITIONS",
        value: "BOOL",
        form: Form::Flag,
        is_of_user: true,
        help: "Let programs on this machine replace the positions: PUT /l1/positions with a CSV body of up to 8 MB",
        check: None,
        set: |config, text| value::flag(text).map(|given| config.allow_positions = given),
        shown: |config| Some(config.allow_positions.shown()),
    },
    ServeOption {
        key: "alerts",
        variable: "GREEKSD_ALERTS",
        value: "FILE",
        form: Form::One,
        is_of_user: true,
        help: "File of alert rules, one comparison a line, such as: SPY atm_vol 30d > 20; hits go to the log and to /l1/stream?alerts=true; reloaded when it changes",
        check: None,
        set: |config, text| value::folder(text).map(|given| config.alerts = Some(given)),
        shown: |config| config.alerts.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "alert-command",
        variable: "GREEKSD_ALERT_COMMAND",
        value: "PROGRAM",
        form: Form::One,
        is_of_user: true,
        help: "Program to run at each hit of an alert rule, with the hit as JSON as its argument; it may take 10 s",
        check: None,
        set: |config, text| value::folder(text).map(|given| config.alert_targets.command = Some(given)),
        shown: |config| config.alert_targets.command.as_ref().map(Shown::shown),
    },
    ServeOption {
        key: "alert-webhook",
        variable: "GREEKSD_ALERT_WEBHOOK",
        value: "URL",
        form: Form::One,
        is_of_user: true,
        help: "Address of this machine to post each hit of an alert rule to as JSON, such as http://127.0.0.1:8080/alert",
        check: None,
        set: |config, text| Webhook::parse(text).map(|given| config.alert_targets.webhook = Some(given)),
        shown: |config| config.alert_targets.webhook.as_ref().map(|webhook| webhook.to_string().shown()),
    },
    ServeOption {
        key: "history-mb",
        variable: "GREEKSD_HISTORY_MB",
        value: "MB",
        form: Form::One,
        is_of_user: true,
        help: "Memory limit for computed past days (--feed history:DIR), in MB, 16 to 1000000; the least recently used days are dropped, and computed again on request [default: 1000]",
        check: None,
        set: |config, text| value::megabytes(text).map(|given| config.history_bytes = given as u64 * MB),
        shown: |config| Some((config.history_bytes / MB).to_string()),
    },
];

impl ServeOption {
    /// The option for clap: its values are checked, and stay text.
    fn argument(&'static self) -> Arg {
        let check = move |text: &str| match self.check {
            Some(check) => check(text).map(|()| text.to_owned()),
            None => (self.set)(&mut Config::default(), text).map(|()| text.to_owned()),
        };
        let argument = Arg::new(self.key)
            .long(self.key)
            .env(self.variable)
            .hide_env_values(true)
            .value_name(self.value)
            .help(self.help)
            .value_parser(check);
        match self.form {
            Form::One => argument,
            Form::Flag => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
            Form::List(separator) => argument.action(clap::ArgAction::Append).value_delimiter(separator),
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
            let separator = if let Form::List(separator) = option.form { separator.to_string() } else { String::new() };
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
