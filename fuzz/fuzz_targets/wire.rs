//! Bytes of a stranger: before the handshake, after it, and as words of the protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_control::key::Key;
use narrows_control::session::{Answer, Order};
use narrows_control::wire::{Reply, Request, Wire};
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let near = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
    (near, listener.accept().expect("accept").0)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((way, bytes)) = bytes.split_first() else { return };
    let key = Key::parse(&"07".repeat(32)).expect("a key");
    match way % 4 {
        // As words, which come from a peer that holds the key.
        0 => {
            let _ = serde_json::from_slice::<Request>(bytes);
            let _ = serde_json::from_slice::<Reply>(bytes);
            let _ = serde_json::from_slice::<Order>(bytes);
            let _ = serde_json::from_slice::<Answer>(bytes);
        }
        // In place of a caller's greeting, or of an agent's.
        1 | 2 => {
            let (mut near, far) = pair();
            let _ = near.write_all(bytes);
            let _ = near.shutdown(Shutdown::Write);
            let opened =
                if *way % 4 == 1 { Wire::answer(far, &key) } else { Wire::call(far, &key) };
            assert!(opened.is_err(), "a stranger was let in");
        }
        // After a good one, unsealed.
        _ => {
            let (near, far) = pair();
            let mut raw = near.try_clone().expect("socket");
            let theirs = key.clone();
            let answering = thread::spawn(move || Wire::answer(far, &theirs));
            let _near = Wire::call(near, &key).expect("call");
            let mut far = answering.join().expect("thread").expect("answer");
            let _ = raw.write_all(bytes);
            let _ = raw.shutdown(Shutdown::Write);
            let heard = far.receive::<Request>(Duration::from_secs(1));
            assert!(!matches!(heard, Ok(Some(_))), "a stranger was heard");
        }
    }
});
