//! `greeksd serve --service`: the daemon as a Windows service, started and stopped by the service manager. Never: the
//! work of a daemon.

use crate::config::Config;
use crate::serve::{self, Phase, SAVING};
use host::log;
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

/// Name of the service. In a process of its own the service manager accepts any name.
const NAME: &str = "greeksd";
/// Time limit of a start, which the service manager is given.
const STARTING: Duration = Duration::from_secs(60);
/// Exit code: wrong arguments.
const USAGE: u8 = 2;

/// Configuration of the service. It is global because the system calls the entry without arguments of ours.
static CONFIG: OnceLock<Config> = OnceLock::new();

define_windows_service!(service_entry, serve_as_service);

/// Runs as a service until the service manager stops it.
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

/// Runs the daemon; the service manager calls it on a thread of its own.
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
    // without a service manager it could not be stopped
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

/// Reports to the service manager: the state, its maximum duration, and the exit code of a stopped service.
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
