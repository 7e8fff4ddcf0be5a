//! `narrows fabric`: a switch fabric on paper.

use crate::args::FabricArgs;
use crate::cause::Cause;
use crate::failure::Failure;
use crate::{output, screen};
use narrows_fabric::catalogue::{self, Switch};
use narrows_fabric::design::Asked;
use narrows_fabric::latency::Lengths;
use narrows_fabric::{FabricError, Planned, Request};
use narrows_model::Bytes;
use narrows_report::fabric;

/// Runs the command.
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
    print(args.json, serde_json::to_string_pretty(&plan), || fabric::text(&plan, &screen))
}

fn request(args: &FabricArgs, asked: Asked) -> Result<Request, FabricError> {
    let spine = args.spine.as_deref().map(catalogue::named).transpose()?;
    Ok(Request {
        leaves: leaves(args, &asked)?,
        asked,
        spine: spine.cloned(),
        tiers: args.tiers,
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
