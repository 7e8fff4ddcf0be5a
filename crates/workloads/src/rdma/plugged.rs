//! Two flows of one trial over a device that tests pretend.

use super::link::{Link, Need, Room, Rooms, memory};
use super::pair::RdmaPair;
use super::pretended::{CALLED, End, IWARP, ROCE};
use super::settings::RdmaSettings;
use super::talk::{Talk, Word};
use crate::LoadError;
use crate::harness::ends::Flow;
use narrows_model::rdma::{RdmaEffective, RdmaTransport};
use narrows_rdma::{Remote, Watched};
use socket2::Socket;

/// The pretended device that is named, where one is.
pub fn meant(settings: &RdmaSettings) -> Option<&'static str> {
    let name = settings.place.device.as_deref();
    [ROCE, IWARP, CALLED].into_iter().find(|kind| Some(*kind) == name)
}

/// Joins a flow to the other end's.
pub fn establish(
    kind: &'static str,
    (flow, told): (Socket, &Flow),
    settings: &RdmaSettings,
    need: &Need,
    rooms: Rooms<'_>,
) -> Result<Link, LoadError> {
    let mut talk = Talk::new(flow)?;
    let memory = Watched::new(memory(told, settings, need)?);
    let room = (need.sends.into(), need.receives as usize);
    let flow = (told.token, told.index);
    let mut end = End::plug((kind, settings.service), flow, memory, need.access, room);
    let base = end.base();
    for Room { id, address, length } in rooms(base) {
        end.post_receive(id, address, length)?;
    }
    let key = u64::from(end.local_key());
    talk.say(Word::Card, &[base.to_be_bytes(), key.to_be_bytes()].concat())?;
    let heard = talk.hear(Word::Card)?;
    let number = |at: usize| heard[at..at + 8].try_into().map_or(0, u64::from_be_bytes);
    let remote = Remote { address: number(0), key: number(8) };
    // Nobody sends before both are ready.
    talk.say(Word::Hello, &[])?;
    talk.hear(Word::Hello)?;
    let inline = told.message() as u64 <= u64::from(settings.inline_bytes);
    let told = RdmaEffective {
        device: kind.to_owned(),
        transport: if kind == IWARP { RdmaTransport::Iwarp } else { RdmaTransport::RoceV2 },
        depth: settings.depth,
        post_list: settings.post_list,
        signal_every: settings.signal_every,
        inline,
        ..RdmaEffective::default()
    };
    Ok(Link { pair: RdmaPair::Pretended(end), base, remote, talk, told, _ticker: None })
}
