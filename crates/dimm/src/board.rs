//! What firmware says of a machine, as far as it tells where its slots are.

use crate::platform::{self, Platform};
use narrows_model::host::{CpuSocket, Host, Identity, MemoryArray, Slot};
use std::collections::BTreeSet;

/// A machine as placement sees it.
pub struct Board<'a> {
    /// Makers and products.
    pub identity: Identity,
    /// Processor sockets as firmware lists them; empty where it lists none.
    pub sockets: &'a [CpuSocket],
    /// Arrays of slots.
    pub arrays: &'a [MemoryArray],
    /// The slots, in the order of firmware's table.
    pub slots: &'a [Slot],
    /// The processors' family, when it is known.
    pub platform: Option<&'static Platform>,
}

impl<'a> Board<'a> {
    /// Of a host whose firmware was read.
    pub fn of(host: &'a Host) -> Self {
        Self {
            identity: host.identity.value().cloned().unwrap_or_default(),
            sockets: host.cpu.sockets.value().map(Vec::as_slice).unwrap_or_default(),
            arrays: host.memory.arrays.value().map(Vec::as_slice).unwrap_or_default(),
            slots: host.memory.slots.value().map(Vec::as_slice).unwrap_or_default(),
            platform: platform::of(host),
        }
    }

    /// Of firmware's parts, without what the kernel knows.
    pub fn of_firmware(
        identity: Identity,
        sockets: &'a [CpuSocket],
        arrays: &'a [MemoryArray],
        slots: &'a [Slot],
    ) -> Self {
        let models = sockets.iter().filter_map(|socket| socket.model.as_deref());
        let platform = models.into_iter().find_map(platform::named);
        Self { identity, sockets, arrays, slots, platform }
    }

    /// Processors that are fitted; 0 where firmware lists no socket.
    pub fn fitted(&self) -> usize {
        self.sockets.iter().filter(|socket| socket.populated).count()
    }

    /// Channels of a processor of the family.
    pub fn channels(&self) -> Option<usize> {
        Some(self.platform?.channels_per_socket() as usize)
    }

    /// Handles of the arrays that the slots belong to, in the order of the slots.
    pub fn array_handles(&self) -> Vec<u16> {
        let mut seen = BTreeSet::new();
        let slots = self.slots.iter().filter(|slot| is_memory_slot(slot));
        slots.filter_map(|slot| slot.array).filter(|handle| seen.insert(*handle)).collect()
    }
}

/// Whether a slot holds DRAM.
pub fn holds_dram(slot: &Slot) -> bool {
    slot.module.as_ref().is_some_and(|module| module.is_dram)
}

/// False for the flash that boards list among their slots. What persistent modules are in is a
/// slot.
pub fn is_memory_slot(slot: &Slot) -> bool {
    !slot.module.as_ref().is_some_and(|module| is_stored(&module.technology))
}

fn is_stored(technology: &str) -> bool {
    const STORED: [&str; 5] = ["FLASH", "ROM", "EEPROM", "FEPROM", "EPROM"];
    STORED.contains(&technology.to_ascii_uppercase().as_str())
}
