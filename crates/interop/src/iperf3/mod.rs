//! The protocol of iperf3 (its wire format, versions 3.1 and later), for a side where nothing can
//! be installed: [`client`] drives its server, [`server`] answers its client.
//!
//! A control connection opens with a cookie of 37 bytes; each data connection says the same one.
//! The server then leads with states of one byte; parameters and results are JSON behind a length
//! of four bytes, big-endian.

mod asked;
pub mod client;
mod error;
mod running;
pub mod server;
mod turns;

pub use error::{Iperf3Error, Nonsense};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Port of its server.
pub const PORT: u16 = 5201;
/// Bytes of a cookie: 36 letters and a zero.
pub const COOKIE_BYTES: usize = 37;
/// No parameters or results of a sane peer are longer.
const JSON_BYTES_MAX: u32 = 4 << 20;
/// No parameters of a client that has proved nothing are longer.
const PARAMETERS_BYTES_MAX: u32 = 64 << 10;
/// How long a word of the client, or a stream, may take.
const STEP_WITHIN: Duration = Duration::from_secs(5);
/// What opens and answers a UDP stream, in the sender's own byte order.
const UDP_REPLY: u32 = 987_654_321;

/// Where a test is: the byte by which one side leads the other there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    TestStart = 1,
    /// The streams carry data from here on.
    TestRunning = 2,
    /// The client has sent, or heard, for as long as was asked.
    TestEnd = 4,
    /// The client may say which test it wants.
    ParamExchange = 9,
    /// The client may open its data connections.
    CreateStreams = 10,
    /// The client gives its test up.
    ClientTerminate = 12,
    /// Each side says what it counted, the client first.
    ExchangeResults = 13,
    /// Both sides know what the other counted.
    DisplayResults = 14,
    /// Nothing more is said.
    Done = 16,
    /// The server has another client's test.
    AccessDenied = -1,
    /// The server does not make this test; two numbers say why.
    ServerError = -2,
}

impl State {
    fn of(byte: u8) -> Option<Self> {
        use State::*;
        let all = [
            TestStart,
            TestRunning,
            TestEnd,
            ParamExchange,
            CreateStreams,
            ClientTerminate,
            ExchangeResults,
            DisplayResults,
            Done,
            AccessDenied,
            ServerError,
        ];
        all.into_iter().find(|state| *state as i8 == byte as i8)
    }
}

fn say(mut stream: &TcpStream, state: State) -> io::Result<()> {
    stream.write_all(&[state as i8 as u8])
}

fn hear(mut stream: impl Read) -> io::Result<State> {
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    State::of(byte[0]).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("state {}", byte[0] as i8))
    })
}

fn send_json(mut stream: &TcpStream, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(value)?;
    let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
    bytes.extend(text);
    stream.write_all(&bytes)
}

fn receive_json<T: DeserializeOwned>(mut stream: impl Read, bytes_max: u32) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > bytes_max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{length} bytes of JSON")));
    }
    let mut text = vec![0; length as usize];
    stream.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// What a client asks for. Fields that are not there are not asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Parameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    udp: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sctp: Option<bool>,
    omit: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_affinity: Option<i64>,
    time: u32,
    num: u64,
    blockcount: u64,
    #[serde(rename = "MSS", skip_serializing_if = "Option::is_none")]
    mss: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodelay: Option<bool>,
    parallel: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverse: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bidirectional: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
    len: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth: Option<u64>,
    pacing_timer: u64,
    #[serde(rename = "TOS", skip_serializing_if = "Option::is_none")]
    tos: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    udp_counters_64bit: Option<u32>,
    client_version: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Results {
    cpu_util_total: f64,
    cpu_util_user: f64,
    cpu_util_system: f64,
    /// -1 for "not known", which some builds write as 2^64 - 1.
    sender_has_retransmits: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_used: Option<String>,
    streams: Vec<StreamResults>,
}

/// What one side measured of one stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StreamResults {
    id: u32,
    bytes: u64,
    retransmits: Value,
    jitter: f64,
    errors: i64,
    omitted_errors: i64,
    packets: i64,
    omitted_packets: i64,
    start_time: f64,
    end_time: f64,
}

/// How iperf3 says that retransmits are not known.
fn unknown() -> Value {
    Value::from(-1)
}

/// The number that iperf3 gives its n-th stream: 1, 3, 4, 5 and so on.
fn stream_id(index: u32) -> u32 {
    if index == 0 { 1 } else { index + 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_by_their_byte() {
        assert_eq!(State::of(9), Some(State::ParamExchange));
        assert_eq!(State::of(0xff), Some(State::AccessDenied));
        assert_eq!(State::of(0xfe), Some(State::ServerError));
        assert_eq!(State::of(77), None);
        assert_eq!([0, 1, 2].map(stream_id), [1, 3, 4]);
    }

    #[test]
    fn what_a_client_sends_is_understood_and_the_rest_left_alone() {
        let text = r#"{"udp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":2,
            "reverse":true,"len":1460,"bandwidth":1048576,"pacing_timer":1000,
            "client_version":"3.12","something_new":[1]}"#;
        let asked: Parameters = serde_json::from_str(text).expect("parameters");
        assert_eq!((asked.udp, asked.reverse, asked.parallel), (Some(true), Some(true), 2));
        assert_eq!((asked.tcp, asked.len), (None, 1460));
        let said = serde_json::to_string(&Parameters::default()).expect("text");
        assert!(!said.contains("reverse") && !said.contains("MSS"), "{said}");
    }

    /// Four bytes of length, most significant first, and so many of text.
    #[test]
    fn json_is_as_long_as_it_says_and_no_longer_than_the_most() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a door");
        let near = TcpStream::connect(listener.local_addr().expect("address")).expect("connected");
        let (mut far, _) = listener.accept().expect("a client");
        send_json(&near, &vec![1; 150]).expect("sent");
        let mut sent = [0; 305];
        far.read_exact(&mut sent).expect("all of it");
        assert_eq!((&sent[..6], &sent[303..]), (&[0, 0, 1, 45, b'[', b'1'][..], &b"1]"[..]));
        let read = |bytes: &[u8], most| receive_json::<Vec<u8>>(bytes, most);
        assert_eq!(read(&sent, 301).expect("as long as may be"), [1; 150]);
        assert_eq!(read(&sent, 300).expect_err("longer").to_string(), "301 bytes of JSON");
        let cut = read(&sent[..304], 301).expect_err("cut");
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
        say(&near, State::ServerError).expect("said");
        assert_eq!(hear(&far).expect("a state"), State::ServerError);
        assert_eq!(hear(&[0xfd][..]).expect_err("none").to_string(), "state -3");
    }
}
