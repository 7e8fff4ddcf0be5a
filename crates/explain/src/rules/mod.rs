//! One rule a file, listed by name.

pub mod acknowledgements_lost;
pub mod acknowledgements_slow;
mod answers_late;
mod aspm_powersave;
pub mod backlog_drops;
mod bursts_lost;
mod clock_source;
mod cold_buffers;
pub mod congestion_control;
pub mod congestion_marks;
pub mod congestion_window;
mod connections_not_closed;
mod conntrack_full;
mod cpu_governor;
mod cpu_profile;
mod cpu_quota;
mod cpu_turbo;
mod cpu_withheld;
pub mod datagrams_dropped;
pub mod dimm_balance;
mod emulated_nic;
mod end_stands_still;
pub mod end_traced;
mod energy_preference;
mod fragments_lost;
mod generator_bound;
pub mod handshake_loss;
mod handshake_slow;
mod hops_exceeded;
pub mod host_congestion;
mod idle_slow_start;
mod idle_states;
mod interrupts_isolated;
mod interrupts_on_one_cpu;
mod iommu_strict;
pub mod large_frames_lost;
mod memlock;
mod memory_limit;
mod memory_mixed;
mod memory_size;
mod memory_speed;
mod memory_traffic;
mod message_size;
mod module_options;
pub mod neighbour_changed;
pub mod nic_coalescing;
mod nic_duplex;
pub mod nic_offloads;
mod nic_queues;
mod nic_remote_node;
mod nic_rings;
pub mod nic_shaped;
pub mod noisy_host;
mod numa_balancing;
mod other_interface;
pub mod other_traffic;
pub mod own_host_drops;
pub mod own_queue;
mod packet_budget;
pub mod packet_cost;
mod packets_single;
mod path_bad_member;
pub mod path_capacity;
pub mod path_capacity_varies;
pub mod path_class;
mod path_corruption;
pub mod path_drops_ecn;
pub mod path_duplicates;
mod path_flow_limit;
pub mod path_half_duplex;
pub mod path_holds_packets;
mod path_mtu_black_hole;
pub mod path_outages;
mod path_packet_rate;
pub mod path_policed;
mod path_protocol;
pub mod path_proxy;
pub mod path_rate_limit;
pub mod path_reordering;
pub mod path_shared;
mod path_short_queue;
mod path_sleeps;
pub mod path_volume;
mod pause_frames;
mod pcie_acs;
mod pcie_bifurcated;
mod pcie_link;
mod pcie_payload;
mod pcie_read_request;
mod pcie_shared;
mod port_range;
mod rdma_port;
mod rdma_retries;
mod realtime_unlimited;
mod receive_autotuning;
mod receive_memory;
pub mod receive_window;
mod receiver_host_drops;
pub mod round_trip_time;
pub mod round_trips_stall;
pub mod round_trips_vary;
mod sack_ignored;
mod same_cpu;
pub mod segment_size;
pub mod send_buffer;
mod sender_pacing;
pub mod slow_start_unfinished;
mod socket_count;
mod softirq_bound;
mod sources_disagree;
mod stack_settings;
mod stream_state;
mod super_packets;
mod tcp_options_removed;
pub mod tcp_retransmits;
mod tcp_sack;
pub mod tcp_send_buffers;
mod tcp_timestamps;
mod timestamps_rejected;
mod transparent_huge_pages;
mod udp_buffers;
mod user_queue;
mod window_scaling;
mod work_on_remote_node;
mod zone_reclaim;

use crate::Rule;
use crate::evidence::evidence;

/// All rules, by name.
pub static RULES: &[&Rule] = &[
    &acknowledgements_lost::RULE,
    &acknowledgements_slow::RULE,
    &answers_late::RULE,
    &aspm_powersave::RULE,
    &backlog_drops::RULE,
    &bursts_lost::RULE,
    &clock_source::RULE,
    &cold_buffers::RULE,
    &congestion_control::RULE,
    &congestion_marks::RULE,
    &congestion_window::RULE,
    &connections_not_closed::RULE,
    &conntrack_full::RULE,
    &cpu_governor::RULE,
    &cpu_profile::RULE,
    &cpu_quota::RULE,
    &cpu_turbo::RULE,
    &cpu_withheld::RULE,
    &datagrams_dropped::RULE,
    &dimm_balance::RULE,
    &emulated_nic::RULE,
    &end_stands_still::RULE,
    &end_traced::RULE,
    &energy_preference::RULE,
    &fragments_lost::RULE,
    &generator_bound::RULE,
    &handshake_loss::RULE,
    &handshake_slow::RULE,
    &hops_exceeded::RULE,
    &host_congestion::RULE,
    &idle_slow_start::RULE,
    &idle_states::RULE,
    &interrupts_isolated::RULE,
    &interrupts_on_one_cpu::RULE,
    &iommu_strict::RULE,
    &large_frames_lost::RULE,
    &memlock::RULE,
    &memory_limit::RULE,
    &memory_mixed::RULE,
    &memory_size::RULE,
    &memory_speed::RULE,
    &memory_traffic::RULE,
    &message_size::RULE,
    &module_options::RULE,
    &neighbour_changed::RULE,
    &nic_coalescing::RULE,
    &nic_duplex::RULE,
    &nic_offloads::RULE,
    &nic_queues::RULE,
    &nic_remote_node::RULE,
    &nic_rings::RULE,
    &nic_shaped::RULE,
    &noisy_host::RULE,
    &numa_balancing::RULE,
    &other_interface::RULE,
    &other_traffic::RULE,
    &own_host_drops::RULE,
    &own_queue::RULE,
    &packet_budget::RULE,
    &packet_cost::RULE,
    &packets_single::RULE,
    &path_bad_member::RULE,
    &path_capacity::RULE,
    &path_capacity_varies::RULE,
    &path_class::RULE,
    &path_corruption::RULE,
    &path_drops_ecn::RULE,
    &path_duplicates::RULE,
    &path_flow_limit::RULE,
    &path_half_duplex::RULE,
    &path_holds_packets::RULE,
    &path_mtu_black_hole::RULE,
    &path_outages::RULE,
    &path_packet_rate::RULE,
    &path_policed::RULE,
    &path_protocol::RULE,
    &path_proxy::RULE,
    &path_rate_limit::RULE,
    &path_reordering::RULE,
    &path_shared::RULE,
    &path_short_queue::RULE,
    &path_sleeps::RULE,
    &path_volume::RULE,
    &pause_frames::RULE,
    &pcie_acs::RULE,
    &pcie_bifurcated::RULE,
    &pcie_link::RULE,
    &pcie_payload::RULE,
    &pcie_read_request::RULE,
    &pcie_shared::RULE,
    &port_range::RULE,
    &rdma_port::RULE,
    &rdma_retries::RULE,
    &realtime_unlimited::RULE,
    &receive_autotuning::RULE,
    &receive_memory::RULE,
    &receive_window::RULE,
    &receiver_host_drops::RULE,
    &round_trip_time::RULE,
    &round_trips_stall::RULE,
    &round_trips_vary::RULE,
    &sack_ignored::RULE,
    &same_cpu::RULE,
    &segment_size::RULE,
    &send_buffer::RULE,
    &sender_pacing::RULE,
    &slow_start_unfinished::RULE,
    &socket_count::RULE,
    &softirq_bound::RULE,
    &sources_disagree::RULE,
    &stack_settings::RULE,
    &stream_state::RULE,
    &super_packets::RULE,
    &tcp_options_removed::RULE,
    &tcp_retransmits::RULE,
    &tcp_sack::RULE,
    &tcp_send_buffers::RULE,
    &tcp_timestamps::RULE,
    &timestamps_rejected::RULE,
    &transparent_huge_pages::RULE,
    &udp_buffers::RULE,
    &user_queue::RULE,
    &window_scaling::RULE,
    &work_on_remote_node::RULE,
    &zone_reclaim::RULE,
];
