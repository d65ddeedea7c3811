//! `greeksd serve --service`: the daemon as a service of Windows, started and stopped by its service manager. Never:
//! what a daemon does.

use crate::config::Config;
use crate::log;
use crate::serve::{self, Phase, SAVING};
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::time::Duration;
use windows_service::service::{
    ServiceControl, ServiceControlAccept, ServiceExitCode, ServiceState, ServiceStatus, ServiceType,
};
use windows_service::service_control_handler::{self, ServiceControlHandlerResult, ServiceStatusHandle};
use windows_service::{define_windows_service, service_dispatcher};

/// The name that the service manager has for it; in a process of its own any name is answered to.
const NAME: &str = "greeksd";
/// How long a start may take before the service manager gives it up.
const STARTING: Duration = Duration::from_secs(60);
/// The exit code of wrong arguments.
const USAGE: u8 = 2;

/// What the service runs with. The system calls its entry without a word of ours.
static CONFIG: OnceLock<Config> = OnceLock::new();

define_windows_service!(service_entry, serve_as_service);

/// Hands the process to the service manager until the service has stopped.
#[must_use]
pub fn run(config: Config) -> ExitCode {
    let _ = CONFIG.set(config);
    match service_dispatcher::start(NAME, service_entry) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::say(&format!(
                "greeksd: --service is for the service manager, which starts the program itself: {error}"
            ));
            ExitCode::from(USAGE)
        }
    }
}

/// The life of the service; the service manager calls it on a thread of its own.
fn serve_as_service(_: Vec<OsString>) {
    let Some(config) = CONFIG.get() else { return };
    let (stop, stopped) = channel();
    let controlled = move |control| match control {
        ServiceControl::Stop | ServiceControl::Shutdown => {
            let _ = stop.send(());
            ServiceControlHandlerResult::NoError
        }
        ServiceControl::Interrogate => ServiceControlHandlerResult::NoError,
        _ => ServiceControlHandlerResult::NotImplemented,
    };
    // without a manager nobody could stop it
    let Ok(manager) = service_control_handler::register(NAME, controlled) else { return };
    report(&manager, ServiceState::StartPending, STARTING, 0);
    let code = serve::run_until(config, &stopped, &|phase| {
        match phase {
            Phase::Opened => {}
            Phase::Serving => report(&manager, ServiceState::Running, Duration::ZERO, 0),
            Phase::Stopping => report(&manager, ServiceState::StopPending, SAVING, 0),
        }
        Ok(())
    });
    report(&manager, ServiceState::Stopped, Duration::ZERO, code);
}

/// Tells the service manager the state, how long that may last, and the exit code of a service that has stopped.
fn report(manager: &ServiceStatusHandle, state: ServiceState, lasts: Duration, code: u8) {
    let is_running = state == ServiceState::Running;
    let accepts = ServiceControlAccept::STOP | ServiceControlAccept::SHUTDOWN;
    let status = ServiceStatus {
        service_type: ServiceType::OWN_PROCESS,
        current_state: state,
        controls_accepted: if is_running { accepts } else { ServiceControlAccept::empty() },
        exit_code: match code {
            0 => ServiceExitCode::NO_ERROR,
            code => ServiceExitCode::ServiceSpecific(u32::from(code)),
        },
        checkpoint: 0,
        wait_hint: lasts,
        process_id: None,
    };
    if let Err(error) = manager.set_service_status(status) {
        tracing::warn!("the service manager does not take the state of the service: {error}");
    }
}
