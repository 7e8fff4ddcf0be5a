//! `cargo run --manifest-path xtask/Cargo.toml`: makes the bindings of `crates/rdma` again from
//! the headers of this machine (Debian: libclang-dev, libibverbs-dev, librdmacm-dev,
//! libfabric-dev). Each library becomes a structure of functions that are looked up at run time.
//! With `-- figures` it counts the sources instead, also in HACKING.md, with `-- circles` it names
//! modules that import each other, with `-- drawing` it draws the house in ARCHITECTURE.md, and
//! with `-- events FOLDER` it compares the codes of Intel's counters with their lists.

mod cycles;
mod decisions;
mod drawing;
mod events;
mod figures;
mod sources;
mod table;

use bindgen::Builder;
use figures::House;
use std::error::Error;
use std::fs;
use std::path::Path;

/// One library, or one part of it.
struct Library {
    /// File that is made, below `crates/rdma/src`.
    file: &'static str,
    header: &'static str,
    /// Name of the structure.
    structure: &'static str,
    functions: &'static [&'static str],
    /// Types and constants that no function names.
    types: &'static [&'static str],
    /// Types that another file has already, or whose inside is nobody's business.
    elsewhere: &'static [&'static str],
    opaque: &'static [&'static str],
    /// Lines at the top.
    raw: &'static str,
}

const VERBS: Library = Library {
    file: "verbs/bindings.rs",
    header: "infiniband/verbs.h",
    structure: "Verbs",
    functions: &[
        "ibv_get_device_list",
        "ibv_free_device_list",
        "ibv_get_device_name",
        "ibv_open_device",
        "ibv_close_device",
        "ibv_query_device",
        "ibv_query_port",
        "ibv_query_gid",
        "ibv_alloc_pd",
        "ibv_dealloc_pd",
        "ibv_reg_mr",
        "ibv_reg_mr_iova2",
        "ibv_dereg_mr",
        "ibv_create_comp_channel",
        "ibv_destroy_comp_channel",
        "ibv_create_cq",
        "ibv_destroy_cq",
        "ibv_get_cq_event",
        "ibv_ack_cq_events",
        "ibv_create_qp",
        "ibv_modify_qp",
        "ibv_destroy_qp",
        "ibv_create_ah",
        "ibv_destroy_ah",
        "ibv_wc_status_str",
    ],
    types: &[
        "ibv_port_attr",
        "ibv_qp_attr_mask",
        "ibv_access_flags",
        "ibv_send_flags",
        "ibv_wc_flags",
    ],
    elsewhere: &["pthread_.*", "__pthread.*", "__atomic.*"],
    opaque: &[
        "ibv_flow.*",
        "ibv_counters.*",
        "ibv_dm",
        "ibv_td",
        "ibv_xrcd",
        "verbs_ex_private",
        "_ibv_device_ops",
    ],
    raw: "use libc::{pthread_cond_t, pthread_mutex_t};",
};

const CM: Library = Library {
    file: "verbs/cm_bindings.rs",
    header: "rdma/rdma_cma.h",
    structure: "Cm",
    functions: &[
        "rdma_create_event_channel",
        "rdma_destroy_event_channel",
        "rdma_create_id",
        "rdma_destroy_id",
        "rdma_bind_addr",
        "rdma_resolve_addr",
        "rdma_resolve_route",
        "rdma_create_qp",
        "rdma_destroy_qp",
        "rdma_connect",
        "rdma_listen",
        "rdma_accept",
        "rdma_reject",
        "rdma_disconnect",
        "rdma_get_cm_event",
        "rdma_ack_cm_event",
        "rdma_get_src_port",
        "rdma_event_str",
        "rdma_set_option",
    ],
    types: &[],
    elsewhere: &[
        "ibv_.*",
        "_ibv.*",
        "_compat_ibv.*",
        "__atomic.*",
        "__pthread.*",
        "pthread_.*",
        "sockaddr.*",
        "verbs_.*",
    ],
    opaque: &["rdma_route"],
    raw: "use super::bindings::*;\nuse libc::sockaddr;",
};

/// Most of libfabric is behind tables of functions in what it makes, which the types have.
const FABRIC: Library = Library {
    file: "fabric/bindings.rs",
    header: "rdma/fabric.h>\n#include <rdma/fi_endpoint.h>\n#include <rdma/fi_domain.h>\n#include \
             <rdma/fi_rma.h>\n#include <rdma/fi_tagged.h>\n#include <rdma/fi_cm.h",
    structure: "Fabric",
    functions: &[
        "fi_getinfo",
        "fi_freeinfo",
        "fi_dupinfo",
        "fi_fabric",
        "fi_strerror",
        "fi_version",
    ],
    types: &[
        "fid_.*",
        "fi_ops_(rma|tagged|cm|ep|domain|fabric|cq|av|mr)",
        "fi_cq_(attr|msg_entry|err_entry|format)",
        "fi_av_(attr|type)",
        "fi_context2",
        "fi_ep_type",
        "fi_wait_obj",
        "fi_progress",
        "FI_(RMA|TAGGED|SOURCE|CONTEXT|CONTEXT2|RECV|SEND|READ|WRITE|REMOTE_READ|REMOTE_WRITE)",
        "FI_(MR_.*|ORDER_SAS|DELIVERY_COMPLETE|TRANSMIT_COMPLETE|EAGAIN|EAVAIL|ENABLE)",
    ],
    elsewhere: &["__atomic.*", "__pthread.*", "pthread_.*"],
    opaque: &[],
    raw: "",
};

fn make(library: &Library, top: &Path) -> Result<(), Box<dyn Error>> {
    let mut builder = Builder::default()
        .header_contents("wrapper.h", &format!("#include <{}>\n", library.header))
        .dynamic_library_name(library.structure)
        .dynamic_link_require_all(false)
        .allowlist_recursively(true)
        .layout_tests(false)
        .generate_comments(false)
        .derive_default(true)
        .derive_debug(false)
        .prepend_enum_name(false)
        .wrap_unsafe_ops(true)
        .merge_extern_blocks(true)
        .raw_line("// Made by xtask from the library's headers; not written by hand.");
    for line in library.raw.lines() {
        builder = builder.raw_line(line);
    }
    for name in library.functions {
        builder = builder.allowlist_function(name);
    }
    for name in library.types {
        builder = builder.allowlist_type(name).allowlist_var(name);
    }
    for name in library.elsewhere {
        builder = builder.blocklist_type(name);
    }
    for name in library.opaque {
        builder = builder.opaque_type(name);
    }
    let made = builder.generate()?;
    made.write_to_file(top.join(library.file))?;
    Ok(())
}

/// Prints the counts of the crates below `top`, one a line, and writes those of HACKING.md.
fn print(top: &Path) -> Result<(), Box<dyn Error>> {
    let house = House::count(top)?;
    show(&house);
    let (_, should) = table::hacking(top, &house)?;
    Ok(fs::write(top.join("HACKING.md"), should)?)
}

fn show(house: &House) {
    let counts = &house.counts;
    let (functions, code) = (counts.function_lines.len(), counts.code_lines);
    let mean = counts.function_lines.iter().sum::<usize>() as f64 / functions as f64;
    println!("code lines, without tests: {code}; comment lines: {}", counts.comment_lines);
    println!(
        "functions: {functions}; lines: mean {mean:.1}, median {}, p90 {}, max {}; over 70 lines: {}",
        house.function(0.5),
        house.function(0.9),
        house.function(1.0),
        house.long_functions()
    );
    println!("arrows between crates: {}", house.arrows);
    println!(
        "lines of modules that import each other in a circle: {} ({:.1} %)",
        house.in_cycles,
        house.circular_percent()
    );
    println!("Result<_, String>: {} of {} Results", counts.string_errors, counts.results);
    let share = |count: usize| counts.per_thousand(count);
    println!("named closures a 1000 lines: {:.1}", share(counts.named_closures));
    println!("matches on a bool a 1000 lines: {:.1}", share(counts.bool_matches));
    println!("unwrap and expect: {}", counts.panics);
    println!("clones a 1000 lines: {:.1}", share(counts.clones));
    println!("public fields a 1000 lines: {:.1}", share(counts.public_fields));
    println!("docs of one or two words: {}", counts.short_docs);
    println!("decisions on how a word begins or ends: {}", counts.text_decisions);
    for (option, (files, crates)) in &house.spread {
        println!("option {option}: named in {files} files of {crates} crates");
    }
}

/// Compares or writes the codes of event files; an error where they differ and are not written.
fn counters(house: &Path) -> Result<(), Box<dyn Error>> {
    let asked: Vec<String> = std::env::args().skip(2).collect();
    let is_written = asked.iter().any(|word| word == "--write");
    let folder = asked.iter().find(|word| !word.starts_with("--"));
    let folder = folder.ok_or("events FOLDER [--write]: a checkout of Intel's perfmon lists")?;
    let wrong = events::run(&house.join("crates/counters/events"), Path::new(folder), is_written)?;
    if wrong > 0 && !is_written {
        return Err(format!("{wrong} events are not as in the lists").into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match std::env::args().nth(1).as_deref() {
        Some("figures") => return print(&house),
        Some("circles") => {
            println!("{:#?}", cycles::of_crates(&house)?);
            return Ok(());
        }
        Some("drawing") => {
            let (_, should) = drawing::architecture(&house)?;
            return Ok(fs::write(house.join("ARCHITECTURE.md"), should)?);
        }
        Some("events") => return counters(&house),
        _ => {}
    }
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/rdma/src");
    for library in [VERBS, CM, FABRIC] {
        make(&library, &top)?;
    }
    Ok(())
}
