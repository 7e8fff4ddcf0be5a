//! Resources of Redfish (DMTF DSP0268), as a management controller gives them: system, memory with
//! its locations, processors, PCIe devices, ports of network adapters. Each is a text of its own;
//! those of one host are assembled when all are there.

mod ports;

use super::{BadText, Reader, json};
use crate::memory::{Firmware, FirmwareTables};
use crate::parts::{PartialHost, bare_path};
use crate::pci;
use narrows_model::host::{ChannelId, CpuSocket, Device, Label, Module, PciLink, Slot, SlotPlace};
use narrows_model::{Bytes, Fact};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PROGRAM: &str = "redfish";

/// Slots that a channel has at most: three modules of DDR3.
const SLOTS_A_CHANNEL_MAX: usize = 3;

/// A management controller's resources: locations of modules that the kernel does not know.
pub static READER: Reader = Reader { name: PROGRAM, is, read };

fn is(text: &str) -> bool {
    json::names(text, &["@odata.id"]) || json::names(text, &["@odata.type"])
}

fn read(text: &str, from: &str) -> Result<PartialHost, BadText> {
    let document = json::document(text, PROGRAM)?;
    let mut part = PartialHost::of(PROGRAM, from);
    part.resources = vec![document];
    Ok(part)
}

/// The kind of a resource: `Memory` of `#Memory.v1_7_1.Memory`.
fn kind(resource: &Value) -> &str {
    let kind = json::text(resource, "@odata.type").unwrap_or_default();
    kind.trim_start_matches('#').split('.').next().unwrap_or_default()
}

fn path(resource: &Value) -> &str {
    json::text(resource, "@odata.id").unwrap_or_default().trim_end_matches('/')
}

/// What the resources of one host tell together.
pub fn assemble(given: &[Value], from: &str) -> Result<PartialHost, BadText> {
    // Collections may hold their members whole.
    let members = given.iter().flat_map(|one| json::members(one, "Members"));
    let all: Vec<&Value> = given.iter().chain(members).filter(|one| one.is_object()).collect();
    let of = |name: &str| {
        let mut seen = BTreeSet::new();
        // What will be set at the next boot is a resource of the same kind.
        let found = all
            .iter()
            .copied()
            .filter(|one| kind(one) == name)
            .filter(|one| !path(one).ends_with("/Settings"));
        found.filter(|one| path(one).is_empty() || seen.insert(path(one))).collect::<Vec<&Value>>()
    };
    let home = home(&of("Processor"), &of("Memory"), &of("ComputerSystem"))?;
    let here =
        |one: &&Value| system(one).is_none_or(|name| home.as_deref().is_none_or(|h| h == name));
    let own = |name: &str| of(name).into_iter().filter(here).collect::<Vec<&Value>>();
    let (memory, systems) = (own("Memory"), own("ComputerSystem"));
    let all: Vec<&Value> = all.iter().copied().filter(here).collect();
    whole(&all, &memory)?;
    let mut part = PartialHost::of(PROGRAM, from);
    let mut firmware = Firmware::default();
    if let Some(system) = systems.first() {
        let (maker, model) = (json::owned(system, "Manufacturer"), json::owned(system, "Model"));
        part.host.product = Fact::known(format!("{maker} {model}").trim().to_owned(), from);
        firmware.system = Some((maker, model));
        part.marks.name = json::text(system, "HostName").map(str::to_owned);
        part.marks.serial = json::text(system, "SerialNumber").map(str::to_owned);
        part.marks.uuid = json::text(system, "UUID").map(str::to_owned);
    }
    firmware.sockets = own("Processor").into_iter().filter_map(socket).collect();
    firmware.slots = memory.iter().map(|one| slot(one)).collect();
    let model = firmware.processor().map(str::to_owned);
    part.host.cpu.model = model.map_or(Fact::absent(from), |model| Fact::known(model, from));
    firmware.place();
    if firmware.slots.iter().all(|slot| slot.at.is_none()) {
        by_location(&mut firmware.slots, &memory);
    }
    let told = FirmwareTables::of(Fact::known(firmware, from));
    part.host.identity = told.identity;
    part.host.cpu.sockets = told.sockets;
    part.host.memory.slots = told.slots;
    let functions = of("PCIeFunction");
    let devices = of("PCIeDevice").into_iter();
    let devices: Vec<(&str, Device)> =
        devices.filter_map(|one| Some((path(one), device(one, &functions, from)?))).collect();
    for port in ports::ports(&all, &devices, from) {
        part.marks.macs.extend(port.mac.map(|mac| (port.nic.name.clone(), mac)));
        part.host.nics.push(port.nic);
    }
    part.host.devices = devices.into_iter().map(|(_, device)| device).collect();
    if all.iter().any(|kind| {
        ["Memory", "NetworkAdapter", "Processor", "ComputerSystem", "PCIeDevice", "PCIeFunction"]
            .contains(&self::kind(kind))
    }) {
        Ok(part)
    } else {
        Err(BadText::Nothing { program: PROGRAM, why: "no system, memory or PCIe device" })
    }
}

/// The system that a resource is of: `1` of `/redfish/v1/Systems/1/Memory/2`.
fn system(resource: &Value) -> Option<&str> {
    let mut parts = path(resource).split('/');
    parts.find(|part| *part == "Systems")?;
    parts.next()
}

/// The one system with processors: a tray of accelerators is listed as a system too. An error for
/// several.
fn home(
    processors: &[&Value],
    memory: &[&Value],
    systems: &[&Value],
) -> Result<Option<String>, BadText> {
    let cpus = processors.iter().filter(|one| is_cpu(one));
    let names: BTreeSet<&str> =
        [memory, systems].into_iter().flatten().filter_map(|one| system(one)).collect();
    let with_cpus: BTreeSet<&str> = cpus.filter_map(|one| system(one)).collect();
    let of = if names.len() > 1 && with_cpus.len() == 1 { with_cpus } else { names };
    if of.len() > 1 {
        Err(BadText::SeveralHosts { what: "systems" })
    } else {
        Ok(of.first().map(|name| (*name).to_owned()))
    }
}

fn is_cpu(processor: &Value) -> bool {
    json::text(processor, "ProcessorType").is_none_or(|kind| kind == "CPU")
}

/// An error where a collection of memory counts more than there are.
fn whole(all: &[&Value], memory: &[&Value]) -> Result<(), BadText> {
    let collections = all.iter().filter(|one| kind(one) == "MemoryCollection");
    let counted: u64 = collections.filter_map(|one| json::count(one, "Members@odata.count")).sum();
    let there = memory.len() as u64;
    if there > 0 && there < counted {
        let missing = format!("{there} of {counted} resources of memory");
        Err(BadText::CutShort { program: PROGRAM, missing })
    } else {
        Ok(())
    }
}

fn is_absent(resource: &Value) -> bool {
    resource.get("Status").and_then(|status| json::text(status, "State")) == Some("Absent")
}

fn small(resource: &Value, key: &str) -> Option<u32> {
    json::count(resource, key).and_then(|count| u32::try_from(count).ok())
}

fn socket(one: &Value) -> Option<CpuSocket> {
    let model = json::text(one, "Model").map(str::to_owned);
    is_cpu(one).then(|| CpuSocket {
        name: json::text(one, "Socket").or(json::text(one, "Id")).unwrap_or_default().to_owned(),
        populated: !is_absent(one) && (model.is_some() || small(one, "TotalCores").is_some()),
        model,
        cores: small(one, "TotalEnabledCores").or_else(|| small(one, "TotalCores")),
        threads: small(one, "TotalThreads"),
    })
}

fn slot(one: &Value) -> Slot {
    let size = json::count(one, "CapacityMiB").filter(|mib| *mib > 0 && *mib < 1 << 40);
    let kind = json::text(one, "MemoryDeviceType").unwrap_or("unknown");
    let medium = json::text(one, "MemoryType").unwrap_or("DRAM");
    let speeds = json::members(one, "AllowedSpeedsMHz").iter().filter_map(Value::as_u64);
    let module = Module {
        size_bytes: size.map(Bytes::mib),
        technology: kind.to_owned(),
        is_dram: medium == "DRAM" && !kind.contains("NVDIMM") && kind != "Flash",
        rated_mts: speeds.max().and_then(|mts| u32::try_from(mts).ok()),
        configured_mts: small(one, "OperatingSpeedMhz").filter(|mts| *mts > 0),
        ranks: small(one, "RankCount").filter(|ranks| *ranks > 0),
    };
    let locator = ["DeviceLocator", "Name", "Id"].iter().find_map(|key| json::text(one, key));
    Slot {
        locator: locator.unwrap_or_default().to_owned(),
        module: (!is_absent(one) && size.is_some()).then_some(module),
        ..Slot::default()
    }
}

/// Places slots by `MemoryLocation`, where every slot has one, no two have the same, and no channel
/// has more slots than there are: many controllers fill in zeros.
fn by_location(slots: &mut [Slot], memory: &[&Value]) {
    let all: Option<Vec<(u32, u32, u32, u32)>> = memory.iter().map(|one| location(one)).collect();
    let Some(all) = all else { return };
    let distinct: BTreeSet<_> = all.iter().collect();
    let mut channels: BTreeMap<(u32, u32, u32), usize> = BTreeMap::new();
    all.iter().for_each(|(s, m, c, _)| *channels.entry((*s, *m, *c)).or_default() += 1);
    let plausible = channels.values().all(|slots| *slots <= SLOTS_A_CHANNEL_MAX);
    if distinct.len() != all.len() || !plausible || channels.len() < 2 {
        return;
    }
    let sockets: BTreeSet<u32> = all.iter().map(|(socket, ..)| *socket).collect();
    for (slot, (socket, controller, channel, _)) in slots.iter_mut().zip(&all) {
        // Some count sockets from 1: here the first is 0.
        let socket = sockets.iter().position(|known| known == socket).unwrap_or(0) as u32;
        let channel = ChannelId::OfUnit { unit: *controller, label: Label::Number(*channel) };
        slot.at = Some(SlotPlace { socket, channel, controller: Some(*controller) });
    }
}

fn location(one: &Value) -> Option<(u32, u32, u32, u32)> {
    let at = one.get("MemoryLocation")?;
    let controller = small(at, "MemoryController").unwrap_or(0);
    Some((small(at, "Socket")?, controller, small(at, "Channel")?, small(at, "Slot")?))
}

fn device(one: &Value, functions: &[&Value], from: &str) -> Option<Device> {
    let own: Vec<&Value> = functions
        .iter()
        .filter(|function| path(function).starts_with(&format!("{}/", path(one))))
        .copied()
        .collect();
    let code = own.iter().find_map(|function| {
        let code = json::text(function, "ClassCode")?.trim_start_matches("0x");
        u32::from_str_radix(code, 16).ok().filter(|_| code.len() == 6)
    });
    let named = own.iter().find_map(|function| json::text(function, "DeviceClass"));
    let class = code.or(match named {
        Some("NetworkController") => Some(0x02_0000),
        Some("ProcessingAccelerators") => Some(0x12_0000),
        _ => None,
    })?;
    let kind = pci::kind(class)?;
    let address = own.iter().find_map(|function| {
        let segment = small(function, "SegmentNumber").unwrap_or(0);
        let (bus, device) = (small(function, "BusNumber")?, small(function, "DeviceNumber")?);
        let function = small(function, "FunctionNumber").unwrap_or(0);
        Some(format!("{segment:04x}:{bus:02x}:{device:02x}.{function:x}"))
    });
    let address = address.or_else(|| json::text(one, "Id").map(|id| format!("redfish {id}")))?;
    let mut way = bare_path(&address);
    way[0].class = Fact::known(class, from);
    let words = ["Manufacturer", "Model"].iter().filter_map(|key| json::text(one, key));
    way[0].name = words.collect::<Vec<_>>().join(" ");
    if let Some(link) = one.get("PCIeInterface").and_then(link) {
        way[0].link = Fact::known(link, from);
    }
    Some(Device {
        kind,
        address: way[0].address.clone(),
        names: Vec::new(),
        driver: Fact::absent(from),
        node: Fact::absent(from),
        is_virtual: false,
        path: way,
    })
}

fn link(interface: &Value) -> Option<PciLink> {
    Some(PciLink {
        speed_gts: speed_gts(json::text(interface, "PCIeType")?)?,
        width: small(interface, "LanesInUse").filter(is_width)?,
        speed_max_gts: speed_gts(json::text(interface, "MaxPCIeType")?)?,
        width_max: small(interface, "MaxLanes").filter(is_width)?,
    })
}

fn is_width(lanes: &u32) -> bool {
    (1..=32).contains(lanes)
}

/// Transfers of a second and lane, in 10^9, of a generation of PCI Express.
fn speed_gts(generation: &str) -> Option<f64> {
    match generation {
        "Gen1" => Some(2.5),
        "Gen2" => Some(5.0),
        "Gen3" => Some(8.0),
        "Gen4" => Some(16.0),
        "Gen5" => Some(32.0),
        "Gen6" => Some(64.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn memory(name: &str, at: [u32; 3], mib: u64) -> Value {
        json!({ "@odata.id": format!("/redfish/v1/Systems/1/Memory/{name}"),
            "@odata.type": "#Memory.v1_7_1.Memory", "Name": name, "CapacityMiB": mib,
            "MemoryDeviceType": "DDR4", "OperatingSpeedMhz": 2400, "AllowedSpeedsMHz": [2400, 2933],
            "RankCount": 2, "Status": { "State": if mib > 0 { "Enabled" } else { "Absent" } },
            "MemoryLocation": { "Socket": at[0], "MemoryController": at[1], "Channel": at[2],
              "Slot": 1 } })
    }

    fn resources() -> Vec<Value> {
        vec![
            json!({ "@odata.id": "/redfish/v1/Systems/1",
              "@odata.type": "#ComputerSystem.v1_5_0.ComputerSystem",
                "Manufacturer": "Contoso", "Model": "3500RX", "SerialNumber": "437X" }),
            json!({ "@odata.id": "/redfish/v1/Systems/1/Processors/1",
              "@odata.type": "#Processor.v1_3_0.Processor",
                "Socket": "CPU 1", "ProcessorType": "CPU", "TotalCores": 8, "TotalThreads": 16,
                "Model": "Multi-Core" }),
            memory("X", [1, 1, 1], 32768),
            memory("Y", [1, 1, 2], 32768),
            memory("Z", [2, 1, 1], 0),
            json!({ "@odata.id": "/redfish/v1/Chassis/1/PCIeDevices/NIC",
              "@odata.type": "#PCIeDevice.v1_4_0.PCIeDevice",
                "Id": "NIC", "Model": "ConnectX", "Manufacturer": "M", "PCIeInterface": {
                "PCIeType": "Gen3", "MaxPCIeType": "Gen4", "LanesInUse": 8, "MaxLanes": 16 } }),
            json!({ "@odata.id": "/redfish/v1/Chassis/1/PCIeDevices/NIC/PCIeFunctions/1",
                "@odata.type": "#PCIeFunction.v1_2_3.PCIeFunction", "ClassCode": "0x020000" }),
        ]
    }

    #[test]
    fn memory_with_its_places_processors_and_cards_are_read() {
        let mut all = resources();
        all.push(json!({ "@odata.id": "/redfish/v1/Systems/1/Processors/1/Settings",
            "@odata.type": "#Processor.v1_3_0.Processor" }));
        let part = assemble(&all, "bmc").expect("resources");
        let slots = part.host.memory.slots.value().expect("memory");
        let at: Vec<_> =
            slots.iter().map(|slot| slot.at.clone().map(|at| (at.socket, at.channel))).collect();
        assert_eq!(at[1], Some((0, "1.2".into())));
        assert_eq!((slots[2].module.is_none(), at[2].clone()), (true, Some((1, "1.1".into()))));
        let module = slots[0].module.as_ref().expect("module");
        assert_eq!((module.rated_mts, module.configured_mts), (Some(2933), Some(2400)));
        let link = part.host.devices[0].path[0].link.value().expect("link");
        assert_eq!(
            (link.speed_gts, link.width, link.speed_max_gts, link.width_max),
            (8.0, 8, 16.0, 16)
        );
        assert_eq!(part.host.cpu.sockets.value().map(Vec::len), Some(1));
    }

    #[test]
    fn the_one_system_with_processors_is_the_host() {
        let of = |kind: &str, systems: &[&str]| -> Vec<Value> {
            let one = |system: &&str| {
                json!({ "@odata.id": format!("/redfish/v1/Systems/{system}/{kind}/1"),
                    "ProcessorType": kind })
            };
            systems.iter().map(one).collect()
        };
        let host = |cpus: &[&str], accelerators: &[&str], memory: &[&str], systems: &[&str]| {
            let processors = [of("CPU", cpus), of("GPU", accelerators)].concat();
            let (memory, systems) = (of("Memory", memory), of("", systems));
            let all = [&processors, &memory, &systems].map(|all| all.iter().collect::<Vec<_>>());
            home(&all[0], &all[1], &all[2])
        };
        let is = |found: Result<Option<String>, BadText>| found.expect("one system");
        assert_eq!(is(host(&[], &[], &[], &[])), None);
        assert_eq!(is(host(&[], &[], &[], &["1"])).as_deref(), Some("1"));
        assert_eq!(is(host(&["2"], &["1"], &["1", "2"], &["1", "2"])).as_deref(), Some("2"));
        assert_eq!(is(host(&["2"], &[], &["1"], &["1"])).as_deref(), Some("1"));
        for several in [
            host(&[], &["1"], &[], &["1", "2"]),
            host(&["1", "2"], &[], &[], &["1", "2"]),
            host(&[], &[], &["1"], &["2"]),
        ] {
            assert!(matches!(several, Err(BadText::SeveralHosts { what: "systems" })));
        }
    }

    #[test]
    fn zeros_place_nothing_and_what_is_missing_or_of_two_is_refused() {
        let zeros = [memory("A", [0, 0, 0], 1024), memory("B", [0, 0, 0], 1024)];
        let part = assemble(&zeros, "bmc").expect("memory");
        let slots = part.host.memory.slots.value().expect("memory");
        assert!(slots.iter().all(|slot| slot.at.is_none()));
        let mut fewer = resources();
        fewer.push(json!({ "@odata.id": "/redfish/v1/Systems/1/Memory",
            "@odata.type": "#MemoryCollection.MemoryCollection", "Members@odata.count": 4 }));
        assert!(matches!(assemble(&fewer, "bmc"), Err(BadText::CutShort { .. })));
        let mut other = resources();
        other.push(
            json!({ "@odata.id": "/redfish/v1/Systems/2", "@odata.type": "#ComputerSystem.v1.X" }),
        );
        // A system without processors is a tray; with one of its own it is another host.
        assert!(assemble(&other, "bmc").is_ok());
        other.push(json!({ "@odata.id": "/redfish/v1/Systems/2/Processors/1",
            "@odata.type": "#Processor.v1_3_0.Processor", "ProcessorType": "CPU" }));
        assert!(matches!(assemble(&other, "bmc"), Err(BadText::SeveralHosts { .. })));
        let none =
            [json!({ "@odata.id": "/redfish/v1", "@odata.type": "#ServiceRoot.v1.ServiceRoot" })];
        assert!(matches!(assemble(&none, "bmc"), Err(BadText::Nothing { .. })));
    }
}
