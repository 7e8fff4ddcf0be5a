//! `path-probe`: questions about the path, asked by the end that connects ([`crate::probe`]): the
//! largest packet that passes each way, fragments, packet trains, handshakes. Messages counted:
//! questions that were answered; the times are round trips of small datagrams on a path without
//! load. It is over when all is known, at the latest with the window.

use crate::harness::ends::{Flow, listens};
use crate::harness::meet::{self, Token};
use crate::harness::socket::{self, LOOK_UP};
use crate::harness::{Lane, LaneEnd, LaneWork, Phase, ThreadsPlan, WorkerThreads};
use crate::probe::answer::answer;
use crate::probe::ask::ask;
use crate::probe::line::Line;
use crate::{Kind, LoadError, Prepared, ThreadMeter};
use narrows_model::Bytes;
use narrows_model::load::{Effective, Job};
use narrows_model::workload::Workload;
use socket2::Socket;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub static KIND: Kind = Kind {
    workload: Workload::PathProbe,
    says: "what passes the path: packet sizes, fragments, trains and handshakes",
    prepare: |job| {
        let token = meet::token(&job.token)?;
        let address = job.address.filter(|_| listens(job));
        let doors = address.map(|address| {
            Ok::<_, LoadError>((meet::open(address, job)?, meet::listen(address, job)?))
        });
        Ok(Box::new(Ready { job: job.clone(), token, doors: doors.transpose()? }))
    },
};

struct Ready {
    job: Job,
    token: Token,
    /// The sockets of UDP and of TCP of the end that listens.
    doors: Option<(Socket, Socket)>,
}

impl Prepared for Ready {
    fn ports(&self) -> Vec<u16> {
        self.doors.iter().flat_map(|(udp, tcp)| [meet::port(udp), meet::port(tcp)]).collect()
    }

    fn arm(
        self: Box<Self>,
        peer: &[SocketAddr],
        meter: ThreadMeter,
    ) -> Result<WorkerThreads, LoadError> {
        let Self { job, token, doors } = *self;
        let told = Flow { job: job.clone(), token, index: 0 };
        let mut lanes: Vec<LaneWork> = Vec::new();
        let mut effective = Effective::default();
        match (doors, peer) {
            (Some((udp, tcp)), _) => {
                let line = if_met(meet::answer(&udp, &job, &token))?.map(|()| udp);
                effective = line.as_ref().map_or(effective, |udp| read_back(udp, &job));
                let line = line.map(|udp| Line::new(udp, token)).transpose()?;
                let over = Arc::new(AtomicBool::new(false));
                let is_over = Arc::clone(&over);
                lanes.push(Box::new(move |lane| answer_all(lane, line, &over)));
                lanes.push(Box::new(move |lane| take_calls(lane, &tcp, &is_over)));
            }
            (None, [udp, tcp]) => {
                let line = if_met(meet::call(*udp, &job, &token))?;
                effective = line.as_ref().map_or(effective, |udp| read_back(udp, &job));
                let line = line.map(|udp| Line::new(udp, token)).transpose()?;
                let tcp = *tcp;
                lanes.push(Box::new(move |lane| ask(lane, line, tcp, &told)));
            }
            (None, _) => {
                let says = "the end that listens named not one port of UDP and one of TCP";
                return Err(LoadError::Order(says.to_owned()));
            }
        }
        let (cpus, binding) = (job.cpus.clone(), job.binding);
        WorkerThreads::start(ThreadsPlan {
            lanes,
            sending: 0..0,
            one_sided: false,
            sockets: vec![],
            effective,
            cpus,
            binding,
            meter,
        })
    }
}

fn read_back(udp: &Socket, job: &Job) -> Effective {
    socket::read_back(udp, job, Bytes(0))
}

/// Ends that do not find each other over UDP are an answer too.
fn if_met<T>(met: Result<T, LoadError>) -> Result<Option<T>, LoadError> {
    match met {
        Ok(met) => Ok(Some(met)),
        Err(LoadError::Apart(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn answer_all(
    lane: &mut Lane,
    line: Option<Line>,
    over: &AtomicBool,
) -> Result<LaneEnd, LoadError> {
    lane.wait_at_gate();
    let answered = match line {
        Some(mut line) => answer(lane, &mut line),
        None => {
            while lane.phase() != Phase::Stop {
                std::thread::sleep(LOOK_UP);
            }
            Ok(())
        }
    };
    over.store(true, Relaxed);
    answered.map(|()| LaneEnd::default())
}

/// Takes connections, and lets each go.
fn take_calls(lane: &mut Lane, door: &Socket, over: &AtomicBool) -> Result<LaneEnd, LoadError> {
    let wait = door.set_read_timeout(Some(LOOK_UP));
    wait.map_err(LoadError::system("setting a timeout"))?;
    lane.wait_at_gate();
    while lane.phase() != Phase::Stop && !over.load(Relaxed) {
        if door.accept().is_ok() {
            lane.tally.moved(1, 0);
        }
    }
    Ok(LaneEnd::default())
}
