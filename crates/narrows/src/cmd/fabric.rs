//! `narrows fabric`: a switch fabric on paper.

use crate::args::FabricArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::{output, screen};
use narrows_fabric::catalogue::{self, Switch};
use narrows_fabric::design::Asked;
use narrows_fabric::latency::Lengths;
use narrows_fabric::measured::{MeasuredPair, Tiered, WithMesh, by_tier};
use narrows_fabric::{FabricError, Planned, Request};
use narrows_model::{BitsPerSecond, Bytes};
use narrows_report::fabric;
use narrows_stats::mesh::{Limits, Mesh, MeshPair, is_time};
use std::path::Path;

pub fn run(args: &FabricArgs) -> Result<u8, Failure> {
    let screen = screen::of_output();
    let (Some(hosts), Some(rate)) = (args.hosts, args.speed) else {
        return print(args.json, serde_json::to_string_pretty(catalogue::switches()), || {
            fabric::catalogue(catalogue::switches(), &screen)
        });
    };
    let (uplink_rate, oversubscription) = (args.uplink_speed, args.oversubscription);
    let asked = Asked { hosts, rate, uplink_rate, oversubscription };
    let plan = request(args, asked).and_then(|request| Planned::of(&request));
    let plan = plan.map_err(|error| Failure::of(Cause::NO_FABRIC, error.to_string()))?;
    if let Some(file) = &args.svg {
        output::write_whole(file, &fabric::svg(&plan))?;
    }
    let tiers = args.measured.as_deref().map(|file| measured(&plan, file)).transpose()?;
    let document = WithMesh { plan: &plan, measured: tiers.as_deref() };
    print(args.json, serde_json::to_string_pretty(&document), || {
        let below = tiers.as_deref().map(|tiers| fabric::measured(tiers, &screen));
        fabric::text(&plan, &screen) + &below.unwrap_or_default()
    })
}

/// The rates of a mesh by tiers of the plan.
fn measured(plan: &Planned, file: &Path) -> Result<Vec<Tiered>, Failure> {
    let stored = narrows_store::read(file)?;
    let wrong = |says: &str| Failure::of(Cause::NO_MESH, format!("{}: {says}", file.display()));
    let mesh = Mesh::of(&stored, Limits::default()).filter(|mesh| !is_time(mesh.unit));
    let mesh = mesh.ok_or_else(|| wrong("no mesh of rates"))?;
    let pairs: Vec<MeasuredPair> = mesh.cells.iter().map(pair).collect();
    by_tier(&plan.design, plan.hashed.as_ref(), &pairs)
        .ok_or_else(|| wrong("the mesh has more hosts than the plan"))
}

fn pair(cell: &MeshPair) -> MeasuredPair {
    MeasuredPair {
        from: u32::try_from(cell.from).unwrap_or(u32::MAX),
        to: u32::try_from(cell.to).unwrap_or(u32::MAX),
        together: cell.value().map(BitsPerSecond),
        alone: cell.alone().map(BitsPerSecond),
    }
}

fn request(args: &FabricArgs, asked: Asked) -> Result<Request, FabricError> {
    let spine = args.spine.as_deref().map(catalogue::named).transpose()?;
    Ok(Request {
        leaves: leaves(args, &asked)?,
        asked,
        spine: spine.cloned(),
        tiers: args.tiers,
        is_dragonfly: args.dragonfly,
        lengths: Lengths { host_metres: args.host_cable, fabric_metres: args.fabric_cable },
        frame: Bytes(args.frame),
        lossless_classes: args.lossless,
        flows: args.flows,
        seed: args.seed,
        buffer: args.buffer,
        round_trip_us: args.rtt,
    })
}

fn leaves(args: &FabricArgs, asked: &Asked) -> Result<Vec<Switch>, FabricError> {
    if let Some(ports) = args.radix {
        return Ok(vec![Switch::of_radix(ports, asked.rate)?]);
    }
    if args.switch.is_empty() {
        Ok(catalogue::switches().to_vec())
    } else {
        args.switch.iter().map(|name| catalogue::named(name).cloned()).collect()
    }
}

fn print(
    json: bool,
    document: serde_json::Result<String>,
    text: impl Fn() -> String,
) -> Result<u8, Failure> {
    let text = if json { document.unwrap_or_default() + "\n" } else { text() };
    output::print_json_or_text(json, &text)?;
    Ok(0)
}
