//! The real world: [`Store`] is the disk, a controller has the ends, the kernel keeps the time and
//! the settings.

use crate::controller::{Controller, unmade};
use crate::outside::{Clock, Disk, Ends, HostSettings};
use crate::session::Site;
use crate::setting::{Setting, SettingError};
use crate::steps::Broken;
use narrows_hostctl::guard::{self, Guard};
use narrows_hostctl::namespaces::{HUGE_PAGES, MTU_BYTES, Namespaces, sysctl_path};
use narrows_hostctl::{HostError, coalescing, offloads};
use narrows_model::Nanos;
use narrows_model::host::Host;
use narrows_model::record::{Outcome, Record};
use narrows_model::study::{Ended, Session};
use narrows_model::trial::Trial;
use narrows_plan::Step;
use narrows_store::{Store, StoreError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a wait looks whether it is to stop.
const WAIT_STEP: Duration = Duration::from_millis(50);

impl Disk for Store {
    fn put_session(&self, session: &Session) -> Result<(), StoreError> {
        Store::put_session(self, session)
    }

    fn put_record(&self, record: &Record) -> Result<(), StoreError> {
        Store::put_record(self, record)
    }

    fn put_ended(&self, ended: &Ended) -> Result<(), StoreError> {
        Store::put_ended(self, ended)
    }
}

impl Ends for Controller<'_> {
    fn measure(&mut self, trials: &[Trial], step: &Step) -> Result<Vec<Record>, Broken> {
        Controller::measure(self, trials, step)
    }

    fn unmade(&mut self, trial: &Trial, step: &Step, outcome: Outcome) -> Record {
        unmade(trial, step, outcome)
    }
}

/// The kernel's clocks.
pub struct LiveClock(Instant);

impl LiveClock {
    /// Begins to count.
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for LiveClock {
    fn now(&self) -> Nanos {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Nanos(since.as_nanos() as u64)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn wait_until(&self, due: Nanos, stop: &AtomicBool) {
        while self.now() < due && !stop.load(Relaxed) {
            thread::sleep(WAIT_STEP);
        }
    }
}

/// Settings of the two namespaces, which go with them; without namespaces those of the host, which
/// a guard puts back, however this process ends.
pub struct LiveSettings<'a> {
    namespaces: Option<&'a Namespaces>,
    interface: Option<&'a str>,
    host: &'a Host,
    binary: &'a Path,
    guard: Option<Guard>,
    /// The congestion control that routes of the namespaces have; empty for the default.
    congestion: String,
    /// MTU of the namespaces' ends.
    mtu_bytes: u32,
}

impl<'a> LiveSettings<'a> {
    /// Nothing is changed yet.
    pub fn new(site: &'a Site, namespaces: Option<&'a Namespaces>, binary: &'a Path) -> Self {
        let interface = site.interface.as_deref();
        Self {
            namespaces,
            interface,
            host: &site.host,
            binary,
            guard: None,
            congestion: String::new(),
            mtu_bytes: MTU_BYTES,
        }
    }

    /// The namespaces, where a setting is theirs and not the host's.
    fn namespaces_of(&self, setting: &Setting) -> Option<&'a Namespaces> {
        let of_host = matches!(setting, Setting::Kernel(name) if name == HUGE_PAGES);
        self.namespaces.filter(|_| !of_host)
    }

    /// The words by which a guard knows a setting of the host.
    fn path(&self, setting: &Setting) -> Result<String, SettingError> {
        let interface = || self.interface.ok_or_else(|| SettingError::NoInterface(setting.clone()));
        Ok(match setting {
            Setting::Mtu => format!("/sys/class/net/{}/mtu", interface()?),
            Setting::Offload(feature) => offloads::path(interface()?, feature),
            Setting::Coalescing(word) => coalescing::path(interface()?, word),
            Setting::Interrupt(file) => file.clone(),
            Setting::Kernel(name) => sysctl_path(name).map_err(|why| refused(setting, why))?,
            Setting::Congestion => return Err(SettingError::NoInterface(setting.clone())),
        })
    }

    fn set_of_namespaces(
        &mut self,
        pair: &Namespaces,
        setting: &Setting,
        value: &str,
    ) -> Result<(), HostError> {
        match setting {
            Setting::Mtu => {
                let bytes = value.parse().map_err(|_| no_number(value))?;
                if bytes != self.mtu_bytes {
                    // Not known until both ends have it.
                    self.mtu_bytes = 0;
                    pair.set_mtu(bytes)?;
                    self.mtu_bytes = bytes;
                }
                Ok(())
            }
            Setting::Offload(feature) => pair.set_offload(feature, value == "on"),
            Setting::Coalescing(word) => pair.set_coalescing(word, value),
            Setting::Kernel(name) => pair.set_sysctl(name, value),
            Setting::Congestion => {
                if value != self.congestion {
                    pair.set_congestion(Some(value).filter(|name| !name.is_empty()))?;
                    value.clone_into(&mut self.congestion);
                }
                Ok(())
            }
            Setting::Interrupt(file) => {
                Err(HostError::Order(format!("{file} is not a setting of a namespace")))
            }
        }
    }

    fn guard(&mut self) -> Result<&mut Guard, HostError> {
        if self.guard.is_none() {
            self.guard = Some(Guard::start(self.binary)?);
        }
        self.guard.as_mut().ok_or_else(|| HostError::Machine("the guard is gone".into()))
    }
}

fn no_number(value: &str) -> HostError {
    HostError::Order(format!("'{value}' is not a number of bytes"))
}

fn refused(setting: &Setting, why: HostError) -> SettingError {
    SettingError::Refused { setting: setting.clone(), why }
}

impl HostSettings for LiveSettings<'_> {
    fn interrupts(&self, device: Option<&str>) -> Vec<String> {
        // Those of a NIC do not join two namespaces.
        let name = device.or(self.interface).filter(|_| self.namespaces.is_none());
        let nic = name.and_then(|name| self.host.nic(name));
        let irqs = nic.and_then(|nic| nic.irqs.value()).into_iter().flatten();
        irqs.map(|irq| format!("/proc/irq/{}/smp_affinity_list", irq.number)).collect()
    }

    fn has_routes(&self) -> bool {
        self.namespaces.is_some()
    }

    fn get(&mut self, setting: &Setting) -> Result<String, SettingError> {
        let got = match (self.namespaces_of(setting), setting) {
            (Some(_), Setting::Mtu) => Ok(self.mtu_bytes.to_string()),
            (Some(_), Setting::Congestion) => Ok(self.congestion.clone()),
            (Some(pair), Setting::Offload(feature)) => {
                pair.offload(feature).map(|on| offloads::word(on).to_owned())
            }
            (Some(pair), Setting::Coalescing(word)) => pair.coalescing(word),
            (Some(pair), Setting::Kernel(name)) => pair.sysctl(name),
            _ => guard::read(&self.path(setting)?),
        };
        got.map_err(|why| refused(setting, why))
    }

    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), SettingError> {
        if let Some(pair) = self.namespaces_of(setting) {
            let set = self.set_of_namespaces(pair, setting, value);
            return set.map_err(|why| refused(setting, why));
        }
        let path = self.path(setting)?;
        let at = |why| refused(setting, why);
        if guard::read(&path).map_err(at)? == value {
            return Ok(());
        }
        self.guard().and_then(|guard| guard.set(&path, value)).map_err(at)?;
        if matches!(setting, Setting::Kernel(name) if name == HUGE_PAGES) {
            let had = guard::read(&path).map_err(at)?;
            if had != value.trim() {
                return Err(SettingError::TooFewPages { had, wanted: value.to_owned() });
            }
        }
        Ok(())
    }

    fn release(&mut self) {
        self.guard = None;
    }
}
