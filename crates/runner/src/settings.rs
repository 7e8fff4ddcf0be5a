//! Settings of the host that a study varies: made for each trial, and back for the others.

use crate::outside::HostSettings;
use crate::setting::{Setting, SettingError};
use narrows_hostctl::namespaces::HUGE_PAGES;
use narrows_hostctl::offloads;
use narrows_model::options::{flows, places};
use narrows_model::trial::{NetworkPath, Trial, TrialId};
use narrows_plan::study::{Cell, Settings as Asked};
use std::collections::BTreeMap;

/// What the trials of a study ask for, and what has been changed for them.
pub struct AppliedSettings {
    asked: BTreeMap<TrialId, Asked>,
    /// What is changed, and what it was before.
    was: BTreeMap<Setting, String>,
}

impl AppliedSettings {
    /// Of a study's cells; nothing is changed yet.
    pub fn of(cells: &[Cell]) -> Self {
        let asked = cells.iter().map(|cell| (cell.id.clone(), cell.settings.clone())).collect();
        Self { asked, was: BTreeMap::new() }
    }

    /// Makes what a trial asks for, and puts back what only others ask for.
    pub fn make(&mut self, trial: &Trial, host: &mut dyn HostSettings) -> Result<(), SettingError> {
        let Some(asked) = self.asked.get(&trial.id) else { return Ok(()) };
        let wanted = wanted(trial, asked, host)?;
        let others = self.was.keys().filter(|setting| {
            matters(trial, setting) && !wanted.iter().any(|(wanted, _)| wanted == *setting)
        });
        for setting in others.cloned().collect::<Vec<_>>() {
            self.put_one_back(&setting, host)?;
        }
        for (setting, value) in wanted {
            if !self.was.contains_key(&setting) {
                // Noted before it is tried: one that fails half-way is put back too.
                self.was.insert(setting.clone(), host.get(&setting)?);
            }
            host.set(&setting, &value)?;
        }
        Ok(())
    }

    /// Puts back whatever is changed; what could not be.
    pub fn put_back(&mut self, host: &mut dyn HostSettings) -> Vec<SettingError> {
        let changed: Vec<Setting> = self.was.keys().rev().cloned().collect();
        let back = changed.iter().map(|setting| self.put_one_back(setting, host));
        back.filter_map(Result::err).collect()
    }

    fn put_one_back(
        &mut self,
        setting: &Setting,
        host: &mut dyn HostSettings,
    ) -> Result<(), SettingError> {
        if let Some(was) = self.was.get(setting) {
            host.set(setting, was)?;
            self.was.remove(setting);
        }
        Ok(())
    }
}

/// Of a memory trial only what is of the whole host.
fn matters(trial: &Trial, setting: &Setting) -> bool {
    trial.path != NetworkPath::Memory
        || matches!(setting, Setting::Kernel(name) if name == HUGE_PAGES)
}

/// What a trial asks for, in the order in which it is made.
fn wanted(
    trial: &Trial,
    asked: &Asked,
    host: &dyn HostSettings,
) -> Result<Vec<(Setting, String)>, SettingError> {
    let mut wanted = Vec::new();
    let mtu_bytes = asked.told(&places::MTU);
    wanted.extend(mtu_bytes.map(|bytes| (Setting::Mtu, bytes.to_string())));
    for (feature, on) in &asked.offloads {
        wanted.push((Setting::Offload(feature.clone()), offloads::word(*on).to_owned()));
    }
    let coalescing = asked.coalescing.words().into_iter();
    wanted.extend(coalescing.map(|(word, value)| (Setting::Coalescing(word), value)));
    if let Some(cpus) = trial.irq().filter(|_| trial.path != NetworkPath::Memory) {
        let bound = trial.controllers().and_then(|end| end.bind.as_ref());
        let device = bound.and_then(|bind| bind.device.as_deref());
        let files = host.interrupts(device);
        if files.is_empty() {
            return Err(SettingError::NoInterrupts);
        }
        let cpus: Vec<String> = cpus.0.iter().map(u32::to_string).collect();
        let list = cpus.join(",");
        wanted.extend(files.into_iter().map(|file| (Setting::Interrupt(file), list.clone())));
    }
    // An outside tool may not be able to ask for one.
    let congestion = asked.told(&flows::CONGESTION);
    let by_route = congestion.filter(|_| trial.engine.is_some() && host.has_routes());
    wanted.extend(by_route.map(|name| (Setting::Congestion, name)));
    for (name, value) in &asked.sysctl {
        wanted.push((Setting::Kernel(name.clone()), value.clone()));
    }
    wanted.retain(|(setting, _)| matters(trial, setting));
    Ok(wanted)
}
