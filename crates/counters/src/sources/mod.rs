//! One source of counters a file, listed by name.

mod cpu;
mod group;
mod interface;
mod netstat;
mod pause;
mod pressure;
mod qdisc;
mod rdma;
mod socket;
mod softnet;
mod tcp_info;
mod udp;
mod user_queue;

use crate::Registered;

/// All sources, by name.
pub static SOURCES: &[&Registered] = &[
    &cpu::SOURCE,
    &group::SOURCE,
    &interface::SOURCE,
    &netstat::SOURCE,
    &pause::SOURCE,
    &pressure::SOURCE,
    &qdisc::SOURCE,
    &rdma::SOURCE,
    &socket::SOURCE,
    &softnet::SOURCE,
    &tcp_info::SOURCE,
    &udp::SOURCE,
    &user_queue::SOURCE,
];
