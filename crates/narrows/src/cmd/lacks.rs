//! What hosts lack for trials, found before the first run, since each run would fail for it.

use crate::cause::Cause;
use crate::failure::Failure;
use crate::said;
use narrows_hostctl::container::{Launcher, NotStarted};
use narrows_model::host::Host;
use narrows_model::load::Bind;
use narrows_model::trial::{EndHost, Trial};
use narrows_plan::without_node;
use nix::net::if_::if_nametoindex;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;

/// Refuses trials whose buffers are to be on a node that their end's host does not have, or in
/// pages that this one has not set aside.
pub fn check_memory<'a>(
    trials: &[Trial],
    known: impl Fn(EndHost) -> Option<&'a Host>,
) -> Result<(), Failure> {
    for trial in trials {
        if let Some((at, why)) = without_node(trial, &known) {
            let place = match at {
                EndHost::Controller => "here".to_owned(),
                EndHost::Peer(_) => {
                    let name = known(at).and_then(|host| host.name.value().cloned());
                    format!("on {}", name.unwrap_or_else(|| "the other host".to_owned()))
                }
            };
            let says = format!("--memory-node: {why} {place}");
            return Err(Failure::of(Cause::NO_NODE, says));
        }
        check_pages(trial)?;
    }
    Ok(())
}

/// Refuses trials that leave from an interface or an address that this host, or the namespace that
/// this process is in, does not have.
pub fn check_bind(trials: &[Trial]) -> Result<(), Failure> {
    let here = trials.iter().flat_map(|trial| &trial.ends);
    let here = here.filter(|end| end.host == EndHost::Controller && end.container.is_none());
    for bind in here.filter_map(|end| end.bind.as_ref()) {
        let why = missing_device(bind).or_else(|| missing_address(bind));
        if let Some(says) = why {
            return Err(Failure::of(Cause::NO_WAY_OUT, format!("-B: {says}")));
        }
    }
    Ok(())
}

fn missing_device(bind: &Bind) -> Option<String> {
    let device = bind.device.as_deref()?;
    if_nametoindex(device).err().map(|_| format!("there is no interface {device} here"))
}

fn missing_address(bind: &Bind) -> Option<String> {
    let address = bind.address?;
    let tried = UdpSocket::bind((address, 0)).err()?;
    let is_other = tried.kind() == ErrorKind::AddrNotAvailable;
    is_other.then(|| format!("{address} is no address of this host"))
}

/// Refuses a trial in huge pages of which too few are set aside.
pub fn check_pages(trial: &Trial) -> Result<(), Failure> {
    let pages = narrows_workloads::check_pages(&trial.kind, &trial.params);
    pages.map_err(|why| Failure::of(Cause::NO_HUGE_PAGES, format!("--pages: {why}")))
}

/// Refuses a container that does not start.
pub fn check_container(launcher: &Launcher) -> Result<(), Failure> {
    let Some(inside) = &launcher.inside else { return Ok(()) };
    // Signals are not caught yet: Ctrl-C ends this program and what it tries.
    let never = AtomicBool::new(false);
    launcher.try_once(said::note, &never).map_err(|why| {
        let cause = match &why {
            NotStarted::NotInstalled(_) => Cause::NO_CONTAINER_PROGRAM,
            NotStarted::Failed { .. } => Cause::of_container(inside),
        };
        Failure::of(cause, format!("--in: {why}"))
    })
}
