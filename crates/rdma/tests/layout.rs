//! The structures of the bindings against the headers of this machine: sizes and offsets as a C
//! compiler has them. Where the compiler or the headers are missing, it says so by name.

use std::process::Command;

#[allow(warnings, clippy::all, clippy::undocumented_unsafe_blocks)]
#[path = "../src/verbs/bindings.rs"]
mod bindings;
#[allow(warnings, clippy::all, clippy::undocumented_unsafe_blocks)]
#[path = "../src/verbs/cm_bindings.rs"]
mod cm_bindings;
#[allow(warnings, clippy::all, clippy::undocumented_unsafe_blocks)]
#[path = "../src/fabric/bindings.rs"]
mod fabric;

/// A size or an offset: as C says it, and in the bindings.
type Layout = (String, usize);

macro_rules! layouts {
    ($all:ident, $module:ident, { $($kind:ident $name:ident ($($field:ident),*))* }) => {
        $(
            let name = concat!(stringify!($kind), " ", stringify!($name));
            $all.push((format!("sizeof({name})"), size_of::<$module::$name>()));
            $($all.push((
                format!("offsetof({name}, {})", stringify!($field)),
                std::mem::offset_of!($module::$name, $field),
            ));)*
        )*
    };
}

macro_rules! numbers {
    ($all:ident, $module:ident, { $($name:ident)* }) => {
        $($all.push((format!("(size_t){}", stringify!($name)), $module::$name as usize));)*
    };
}

/// What C says of each expression; `None` where it cannot be compiled here.
fn in_c(test: &str, headers: &[&str], all: &[Layout]) -> Option<Vec<usize>> {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = format!("{test}-{}", headers[0]).replace(['/', '.'], "-");
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    let mut text = "#include <stdio.h>\n#include <stddef.h>\n".to_owned();
    headers.iter().for_each(|header| text += &format!("#include <{header}>\n"));
    text += "int main(void) {\n";
    all.iter().for_each(|(what, _)| text += &format!("  printf(\"%zu\\n\", {what});\n"));
    text += "  return 0;\n}\n";
    std::fs::write(&source, text).expect("source");
    let built = Command::new("cc").arg("-o").arg(&program).arg(&source).output();
    let built = built.ok()?;
    let says = String::from_utf8_lossy(&built.stderr).into_owned();
    if says.contains("No such file") {
        return None;
    }
    assert!(built.status.success(), "{says}");
    let said = Command::new(&program).output().expect("the program");
    let said = String::from_utf8(said.stdout).expect("numbers");
    Some(said.lines().map(|line| line.parse().expect("a number")).collect())
}

fn agree(test: &str, headers: &[&str], all: &[Layout]) {
    let Some(told) = in_c(test, headers, all) else {
        // In one piece: the harness writes between.
        let text = format!("skipped: {test}: cc with {} is not there\n", headers[0]);
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        return;
    };
    assert_eq!(told.len(), all.len());
    for ((what, ours), theirs) in all.iter().zip(told) {
        assert_eq!(*ours, theirs, "{what}");
    }
}

#[test]
fn verbs_are_laid_out_as_c_has_them() {
    let mut all = Vec::new();
    layouts!(all, bindings, {
        union ibv_gid (raw, global)
        struct ibv_device_attr (fw_ver, node_guid, sys_image_guid, max_mr_size,
            page_size_cap, vendor_id, vendor_part_id, hw_ver, max_qp, max_qp_wr,
            device_cap_flags, max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd,
            max_qp_rd_atom, max_ee_rd_atom, max_res_rd_atom, max_qp_init_rd_atom,
            max_ee_init_rd_atom, atomic_cap, max_ee, max_rdd, max_mw, max_raw_ipv6_qp,
            max_raw_ethy_qp, max_mcast_grp, max_mcast_qp_attach,
            max_total_mcast_qp_attach, max_ah, max_fmr, max_map_per_fmr, max_srq,
            max_srq_wr, max_srq_sge, max_pkeys, local_ca_ack_delay, phys_port_cnt)
        struct ibv_port_attr (state, max_mtu, active_mtu, gid_tbl_len, port_cap_flags,
            max_msg_sz, bad_pkey_cntr, qkey_viol_cntr, pkey_tbl_len, lid, sm_lid, lmc,
            max_vl_num, sm_sl, subnet_timeout, init_type_reply, active_width,
            active_speed, phys_state, link_layer, flags, port_cap_flags2)
        struct ibv_wc (wr_id, status, opcode, vendor_err, byte_len, qp_num, src_qp,
            wc_flags, pkey_index, slid, sl, dlid_path_bits)
        struct ibv_mw_bind_info (mr, addr, length, mw_access_flags)
        struct ibv_pd (context, handle)
        struct ibv_mr (context, pd, addr, length, handle, lkey, rkey)
        struct ibv_mw (context, pd, rkey, handle)
        struct ibv_global_route (dgid, flow_label, sgid_index, hop_limit, traffic_class)
        struct ibv_ah_attr (grh, dlid, sl, src_path_bits, static_rate, is_global,
            port_num)
        struct ibv_qp_cap (max_send_wr, max_recv_wr, max_send_sge, max_recv_sge,
            max_inline_data)
        struct ibv_qp_init_attr (qp_context, send_cq, recv_cq, srq, cap, qp_type,
            sq_sig_all)
        struct ibv_qp_attr (qp_state, cur_qp_state, path_mtu, path_mig_state, qkey,
            rq_psn, sq_psn, dest_qp_num, qp_access_flags, cap, ah_attr, alt_ah_attr,
            pkey_index, alt_pkey_index, en_sqd_async_notify, sq_draining, max_rd_atomic,
            max_dest_rd_atomic, min_rnr_timer, port_num, timeout, retry_cnt, rnr_retry,
            alt_port_num, alt_timeout, rate_limit)
        struct ibv_sge (addr, lkey, length)
        struct ibv_send_wr (wr_id, next, sg_list, num_sge, opcode, send_flags, wr,
            qp_type)
        struct ibv_recv_wr (wr_id, next, sg_list, num_sge)
        struct ibv_mw_bind (wr_id, send_flags, bind_info)
        struct ibv_srq (context, srq_context, pd, handle, mutex, cond, events_completed)
        struct ibv_qp (context, qp_context, pd, send_cq, recv_cq, srq, handle, qp_num,
            state, qp_type, mutex, cond, events_completed)
        struct ibv_comp_channel (context, fd, refcnt)
        struct ibv_cq (context, channel, cq_context, handle, cqe, mutex, cond,
            comp_events_completed, async_events_completed)
        struct ibv_ah (context, pd, handle)
        struct ibv_device (node_type, transport_type, name, dev_name, dev_path,
            ibdev_path)
        struct ibv_context_ops (alloc_mw, bind_mw, dealloc_mw, poll_cq, req_notify_cq,
            post_srq_recv, post_send, post_recv)
        struct ibv_context (device, ops, cmd_fd, async_fd, num_comp_vectors, mutex,
            abi_compat)
    });
    agree("verbs_are_laid_out_as_c_has_them", &["infiniband/verbs.h"], &all);
}

#[test]
fn the_connection_manager_is_too() {
    let mut all = Vec::new();
    layouts!(all, cm_bindings, {
        struct rdma_event_channel (fd)
        struct rdma_cm_id (verbs, channel, context, qp, route, ps, port_num, event,
            send_cq_channel, send_cq, recv_cq_channel, recv_cq, srq, pd, qp_type)
        struct rdma_conn_param (private_data, private_data_len, responder_resources,
            initiator_depth, flow_control, retry_count, rnr_retry_count, srq, qp_num)
        struct rdma_ud_param (private_data, private_data_len, ah_attr, qp_num, qkey)
        struct rdma_cm_event (id, listen_id, event, status, param)
    });
    agree("the_connection_manager_is_too", &["rdma/rdma_cma.h"], &all);
}

/// The headers of libfabric.
const FABRIC: [&str; 6] = [
    "rdma/fabric.h",
    "rdma/fi_endpoint.h",
    "rdma/fi_domain.h",
    "rdma/fi_rma.h",
    "rdma/fi_tagged.h",
    "rdma/fi_cm.h",
];

#[test]
fn libfabrics_attributes_are_too() {
    let mut all = Vec::new();
    layouts!(all, fabric, {
        struct fi_tx_attr (caps, mode, op_flags, msg_order, comp_order, inject_size,
            size, iov_limit, rma_iov_limit, tclass)
        struct fi_rx_attr (caps, mode, op_flags, msg_order, comp_order,
            total_buffered_recv, size, iov_limit)
        struct fi_ep_attr (protocol, protocol_version, max_msg_size, msg_prefix_size,
            max_order_raw_size, max_order_war_size, max_order_waw_size, mem_tag_format,
            tx_ctx_cnt, rx_ctx_cnt, auth_key_size, auth_key)
        struct fi_domain_attr (domain, name, threading, control_progress, data_progress,
            resource_mgmt, av_type, mr_mode, mr_key_size, cq_data_size, cq_cnt, ep_cnt,
            tx_ctx_cnt, rx_ctx_cnt, max_ep_tx_ctx, max_ep_rx_ctx, max_ep_stx_ctx,
            max_ep_srx_ctx, cntr_cnt, mr_iov_limit, caps, mode, auth_key, auth_key_size,
            max_err_data, mr_cnt, tclass)
        struct fi_fabric_attr (fabric, name, prov_name, prov_version, api_version)
        struct fi_info (next, caps, mode, addr_format, src_addrlen, dest_addrlen,
            src_addr, dest_addr, handle, tx_attr, rx_attr, ep_attr, domain_attr,
            fabric_attr, nic)
        struct fi_device_attr (name, device_id, device_version, vendor_id, driver,
            firmware)
        struct fi_pci_attr (domain_id, bus_id, device_id, function_id)
        struct fi_bus_attr (bus_type, attr)
        struct fi_link_attr (address, mtu, speed, state, network_type)
        struct fi_ops (size, close, bind, control, ops_open, tostr, ops_set)
        struct fid (fclass, context, ops)
        struct fi_ops_fabric (size, domain, passive_ep, eq_open, wait_open, trywait,
            domain2)
        struct fid_fabric (fid, ops, api_version)
        struct fid_nic (fid, device_attr, bus_attr, link_attr, prov_attr)
        struct fi_context2 (internal)
        struct fi_wait_attr (wait_obj, flags)
        struct fi_ops_wait (size, wait)
        struct fid_wait (fid, ops)
        struct fi_poll_attr (flags)
        struct fi_ops_poll (size, poll, poll_add, poll_del)
        struct fid_poll (fid, ops)
        struct fi_eq_attr (size, flags, wait_obj, signaling_vector, wait_set)
        struct fi_eq_err_entry (fid, context, data, err, prov_errno, err_data,
            err_data_size)
        struct fi_ops_eq (size, read, readerr, write, sread, strerror)
        struct fid_eq (fid, ops)
    });
    agree("libfabrics_attributes_are_too", &FABRIC, &all);
}

#[test]
fn and_what_libfabric_completes_and_sends() {
    let mut all = Vec::new();
    layouts!(all, fabric, {
        struct fi_cq_msg_entry (op_context, flags, len)
        struct fi_cq_err_entry (op_context, flags, len, buf, data, tag, olen, err,
            prov_errno, err_data, err_data_size)
        struct fi_cq_attr (size, flags, format, wait_obj, signaling_vector, wait_cond,
            wait_set)
        struct fi_ops_cq (size, read, readfrom, readerr, sread, sreadfrom, signal,
            strerror)
        struct fid_cq (fid, ops)
        struct fi_cntr_attr (events, wait_obj, wait_set, flags)
        struct fi_ops_cntr (size, read, readerr, add, set, wait, adderr, seterr)
        struct fid_cntr (fid, ops)
        struct fi_av_attr (rx_ctx_bits, count, ep_per_node, name, map_addr, flags)
        struct fi_av_set_attr (count, start_addr, end_addr, stride, comm_key_size,
            comm_key, flags)
        struct fi_ops_av (size, insert, insertsvc, insertsym, remove, lookup, straddr,
            av_set)
        struct fid_av (fid, ops)
        struct fid_mr (fid, mem_desc, key)
        struct fi_mr_attr (mr_iov, iov_count, access, offset, requested_key, context,
            auth_key_size, auth_key, iface, device)
        struct fi_ops_domain (size, av_open, cq_open, endpoint, scalable_ep, cntr_open,
            poll_open, stx_ctx, srx_ctx, query_atomic, query_collective, endpoint2)
        struct fi_ops_mr (size, reg, regv, regattr)
        struct fid_domain (fid, ops, mr)
        struct fi_msg (msg_iov, desc, iov_count, addr, context, data)
        struct fi_ops_ep (size, cancel, getopt, setopt, tx_ctx, rx_ctx, rx_size_left,
            tx_size_left)
        struct fi_ops_msg (size, recv, recvv, recvmsg, send, sendv, sendmsg, inject,
            senddata, injectdata)
        struct fid_ep (fid, ops, cm, msg, rma, tagged, atomic, collective)
        struct fid_pep (fid, ops, cm)
        struct fid_stx (fid, ops)
        struct fi_rma_iov (addr, len, key)
        struct fi_msg_rma (msg_iov, desc, iov_count, addr, rma_iov, rma_iov_count,
            context, data)
        struct fi_ops_rma (size, read, readv, readmsg, write, writev, writemsg, inject,
            writedata, injectdata)
        struct fi_msg_tagged (msg_iov, desc, iov_count, addr, tag, ignore, context,
            data)
        struct fi_ops_tagged (size, recv, recvv, recvmsg, send, sendv, sendmsg, inject,
            senddata, injectdata)
        struct fid_mc (fid, fi_addr)
        struct fi_ops_cm (size, setname, getname, getpeer, connect, listen, accept,
            reject, shutdown, join)
    });
    agree("and_what_libfabric_completes_and_sends", &FABRIC, &all);
}

#[test]
fn numbers_are_those_of_c() {
    let mut all = Vec::new();
    numbers!(all, bindings, {
        IBV_ACCESS_LOCAL_WRITE IBV_ACCESS_RELAXED_ORDERING IBV_ACCESS_REMOTE_ATOMIC
        IBV_ACCESS_REMOTE_READ IBV_ACCESS_REMOTE_WRITE IBV_MTU_256 IBV_PORT_ACTIVE IBV_QPS_INIT
        IBV_QPS_RTR IBV_QPS_RTS IBV_QPT_RC IBV_QPT_UC IBV_QPT_UD IBV_QP_ACCESS_FLAGS IBV_QP_AV
        IBV_QP_DEST_QPN IBV_QP_MAX_DEST_RD_ATOMIC IBV_QP_MAX_QP_RD_ATOMIC IBV_QP_MIN_RNR_TIMER
        IBV_QP_PATH_MTU IBV_QP_PKEY_INDEX IBV_QP_PORT IBV_QP_QKEY IBV_QP_RETRY_CNT
        IBV_QP_RNR_RETRY IBV_QP_RQ_PSN IBV_QP_SQ_PSN IBV_QP_STATE IBV_QP_TIMEOUT IBV_SEND_INLINE
        IBV_SEND_SIGNALED IBV_TRANSPORT_IWARP IBV_WC_RECV IBV_WC_RECV_RDMA_WITH_IMM
        IBV_WC_SUCCESS IBV_WR_ATOMIC_FETCH_AND_ADD IBV_WR_RDMA_READ IBV_WR_RDMA_WRITE
        IBV_WR_RDMA_WRITE_WITH_IMM IBV_WR_SEND
    });
    agree("numbers_are_those_of_c", &["infiniband/verbs.h"], &all);
    let mut all = Vec::new();
    numbers!(all, cm_bindings, {
        RDMA_CM_EVENT_ADDR_RESOLVED RDMA_CM_EVENT_CONNECT_REQUEST RDMA_CM_EVENT_ESTABLISHED
        RDMA_CM_EVENT_ROUTE_RESOLVED RDMA_PS_TCP
    });
    agree("numbers_are_those_of_c", &["rdma/rdma_cma.h"], &all);
    let mut all = Vec::new();
    numbers!(all, fabric, {
        FI_CONTEXT FI_CONTEXT2 FI_CQ_FORMAT_MSG FI_DELIVERY_COMPLETE FI_EAGAIN FI_EAVAIL
        FI_ENABLE FI_EP_RDM FI_EP_UNSPEC FI_MR_ALLOCATED FI_MR_ENDPOINT FI_MR_LOCAL
        FI_MR_PROV_KEY FI_MR_VIRT_ADDR FI_ORDER_SAS FI_PROGRESS_AUTO FI_READ FI_RECV
        FI_REMOTE_READ FI_REMOTE_WRITE FI_RMA FI_SEND FI_SOURCE FI_TAGGED FI_WAIT_FD
        FI_WAIT_NONE FI_WRITE
    });
    agree("numbers_are_those_of_c", &FABRIC, &all);
}
