//! Processors that firmware lists.

use narrows_model::host::CpuSocket;

/// Sockets where firmware lists every CPU of a processor by itself, as that of Apple's Mac Pro does
/// (`CPU-A (00)` to `CPU-A (11)`): one for each name before the number. Others are left alone.
pub fn by_socket(listed: Vec<CpuSocket>) -> Vec<CpuSocket> {
    let names: Option<Vec<String>> = listed.iter().map(|one| before_number(&one.name)).collect();
    let Some(names) = names else { return listed };
    let mut sockets: Vec<CpuSocket> = Vec::new();
    for (one, name) in listed.into_iter().zip(names) {
        match sockets.iter_mut().find(|socket| socket.name == name) {
            Some(socket) => socket.populated |= one.populated,
            None => sockets.push(CpuSocket { name, ..one }),
        }
    }
    sockets
}

/// `CPU-A` of ` CPU-A (05)`.
fn before_number(name: &str) -> Option<String> {
    let (socket, number) = name.trim().strip_suffix(')')?.split_once(" (")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| socket.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sockets(names: &[&str]) -> Vec<String> {
        let listed = names.iter().map(|name| CpuSocket {
            name: (*name).to_owned(),
            populated: true,
            ..CpuSocket::default()
        });
        by_socket(listed.collect()).into_iter().map(|socket| socket.name).collect()
    }

    #[test]
    fn a_record_for_each_cpu_is_no_socket_each() {
        let mac = [" CPU-A (00)", " CPU-A (01)", " CPU-B (00)", " CPU-B (16)"];
        assert_eq!(sockets(&mac), ["CPU-A", "CPU-B"]);
        for plain in [["CPU1", "CPU2"], ["CPU (A)", "CPU (B)"], ["CPU-A (00)", "CPU-B"]] {
            assert_eq!(sockets(&plain), plain);
        }
    }
}
