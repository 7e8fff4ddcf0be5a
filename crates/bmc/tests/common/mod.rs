//! A management controller for tests: real TLS with a certificate of its own making, a small
//! mockup behind it, and the ways in which controllers fail.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub const USER: &str = "reader";
pub const PASSWORD: &str = "correct horse \"battery\" \u{e4}";
pub const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";
pub const SYSTEM: &str = "/redfish/v1/Systems/1";
const TOKEN: &str = "0123456789abcdef";
/// No test waits for a controller that hangs as long as this.
const HANGS: Duration = Duration::from_secs(60);

/// What a controller does wrong, at one path or everywhere.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    None,
    /// Basic authentication alone.
    NoSessions,
    /// Everybody may read.
    Open,
    /// It takes the request and never answers.
    Hangs(&'static str),
    /// Its answer has no end.
    Endless(&'static str),
    /// The connection ends inside the answer.
    BreaksOff(&'static str),
    /// The answer is whole, its JSON is not.
    HalfJson(&'static str),
    /// It answers with this text.
    Says(&'static str, &'static str),
    /// It answers with this status.
    Status(&'static str, u16),
    /// It sends the client elsewhere.
    Redirects(&'static str, String),
    /// It answers who signs in with this status, these headers and this text.
    SignsIn(u16, &'static str, &'static str),
    /// It sends the client so often from one path to the next, and then answers.
    Leads(&'static str, u32),
}

/// A controller that answers until the test ends.
pub struct Controller {
    pub port: u16,
    pub certificate: Vec<u8>,
    /// `GET /redfish/v1/ token`, and `nobody` or `basic` for `token`.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Controller {
    pub fn new(fault: Fault) -> Self {
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("a key");
        let (config, fault) = (Arc::new(config), Arc::new(fault));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, fault, log) = (config.clone(), fault.clone(), log.clone());
                thread::spawn(move || serve(stream, config, &fault, &log));
            }
        });
        Self { port, certificate: cert.der().to_vec(), asked }
    }

    pub fn address(&self) -> String {
        format!("redfish://127.0.0.1:{}", self.port)
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("the log").clone()
    }
}

fn serve(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    fault: &Fault,
    log: &Mutex<Vec<String>>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let connection = ServerConnection::new(config).ok()?;
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let (mut who, mut length) = ("nobody", 0);
        loop {
            let mut header = String::new();
            stream.read_line(&mut header).ok()?;
            let (name, value) = header.trim().split_once(": ").unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "" => break,
                "x-auth-token" if value == TOKEN => who = "token",
                "authorization" if value == basic() => who = "basic",
                "content-length" => length = value.parse().ok()?,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        let mut words = line.split(' ');
        let (method, path) = (words.next()?, words.next()?);
        log.lock().ok()?.push(format!("{method} {path} {who}"));
        answer(stream.get_mut(), (method, path, who), &body, fault).ok()?;
    }
}

/// The words of basic authentication, by hand: RFC 7617 with UTF-8.
fn basic() -> &'static str {
    "Basic cmVhZGVyOmNvcnJlY3QgaG9yc2UgImJhdHRlcnkiIMOk"
}

fn answer(
    to: &mut impl Write,
    (method, path, who): (&str, &str, &str),
    body: &[u8],
    fault: &Fault,
) -> std::io::Result<()> {
    let known = matches!(fault, Fault::Open) || who != "nobody" || path == "/redfish/v1/";
    match (method, path, fault) {
        (_, SESSIONS, Fault::NoSessions) => say(to, 404, "", "{}"),
        (_, at, Fault::Status(path, status)) if at == *path => say(to, *status, "", "{}"),
        (_, at, Fault::Redirects(path, link)) if at == *path => {
            say(to, 307, &format!("Location: {link}\r\n"), "")
        }
        ("POST", SESSIONS, Fault::SignsIn(status, head, text)) => say(to, *status, head, text),
        ("GET", at, Fault::Leads(path, times)) if at.trim_end_matches('/') == *path => {
            let gone = (at.len() - path.len()) as u32;
            if gone == *times {
                return say(to, 200, "", mockup()[*path].as_str());
            }
            say(to, 308, &format!("Location: {at}/\r\n"), "")
        }
        ("POST", SESSIONS, _) => match String::from_utf8_lossy(body).as_ref() {
            right if right == login() => {
                let head = format!("X-Auth-Token: {TOKEN}\r\nLocation: {SESSIONS}/7\r\n");
                say(to, 201, &head, "{}")
            }
            _ => say(to, 401, "", "{}"),
        },
        ("DELETE", _, _) if who == "token" => say(to, 204, "", ""),
        ("GET", _, _) if !known => say(to, 401, "", "{}"),
        ("GET", at, Fault::Hangs(path)) if at == *path => {
            thread::sleep(HANGS);
            Ok(())
        }
        ("GET", at, Fault::Endless(path)) if at == *path => {
            to.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            loop {
                to.write_all(b"1000\r\n")?;
                to.write_all(&[b' '; 0x1000])?;
                to.write_all(b"\r\n")?;
            }
        }
        ("GET", at, Fault::BreaksOff(path)) if at == *path => {
            to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"a\":")?;
            to.flush()?;
            Err(std::io::Error::other("broken off"))
        }
        ("GET", at, Fault::HalfJson(path)) if at == *path => say(to, 200, "", "{\"@odata.id\": \""),
        ("GET", at, Fault::Says(path, text)) if at == *path => say(to, 200, "", text),
        ("GET", at, _) => match mockup().get(at.trim_end_matches('/')) {
            Some(text) => say(to, 200, "", text),
            None => say(to, 404, "", "{}"),
        },
        _ => say(to, 405, "", "{}"),
    }
}

fn login() -> String {
    let quoted = PASSWORD.replace('"', "\\\"");
    format!("{{\"Password\":\"{quoted}\",\"UserName\":\"{USER}\"}}")
}

fn say(to: &mut impl Write, status: u16, head: &str, text: &str) -> std::io::Result<()> {
    let length = text.len();
    let whole = format!("HTTP/1.1 {status} X\r\n{head}Content-Length: {length}\r\n\r\n{text}");
    to.write_all(whole.as_bytes())?;
    to.flush()
}

fn collection(kind: &str, path: &str, members: &[String]) -> String {
    let links: Vec<String> =
        members.iter().map(|member| format!("{{\"@odata.id\":\"{path}/{member}\"}}")).collect();
    format!(
        "{{\"@odata.id\":\"{path}\",\"@odata.type\":\"#{kind}Collection.{kind}Collection\",\
         \"Members@odata.count\":{},\"Members\":[{}]}}",
        members.len(),
        links.join(",")
    )
}

const V1: &str = "/redfish/v1";
const CHASSIS: &str = "/redfish/v1/Chassis/1";

fn link(path: &str) -> String {
    format!("{{\"@odata.id\":\"{path}\"}}")
}

fn one(kind: &str, path: &str, rest: &str) -> (String, String) {
    let text =
        format!("{{\"@odata.id\":\"{path}\",\"@odata.type\":\"#{kind}.v1_0_0.{kind}\",{rest}}}");
    (path.to_owned(), text)
}

fn list(kind: &str, path: &str, members: &[String]) -> (String, String) {
    (path.to_owned(), collection(kind, path, members))
}

/// One system of two processors with six modules each, and a card.
fn mockup() -> BTreeMap<String, String> {
    [top(), memory(), processors(), cards()].into_iter().flatten().collect()
}

fn top() -> Vec<(String, String)> {
    let (systems, chassis) = (format!("{V1}/Systems"), format!("{V1}/Chassis"));
    let both = format!("\"Systems\":{},\"Chassis\":{}", link(&systems), link(&chassis));
    let system = format!(
        "\"Manufacturer\":\"Contoso\",\"Model\":\"3500RX\",\"Memory\":{},\"Processors\":{},\
         \"Links\":{{\"Chassis\":[{}]}}",
        link(&format!("{SYSTEM}/Memory")),
        link(&format!("{SYSTEM}/Processors")),
        link(CHASSIS)
    );
    let devices = format!("\"PCIeDevices\":{}", link(&format!("{CHASSIS}/PCIeDevices")));
    vec![
        one("ServiceRoot", V1, &both),
        list("ComputerSystem", &systems, &["1".into()]),
        list("Chassis", &chassis, &["1".into()]),
        one("ComputerSystem", SYSTEM, &system),
        one("Chassis", CHASSIS, &devices),
    ]
}

fn memory() -> Vec<(String, String)> {
    let names: Vec<String> = (0..12).map(|at| format!("DIMM{at}")).collect();
    let mut all = vec![list("Memory", &format!("{SYSTEM}/Memory"), &names)];
    all.extend(names.iter().enumerate().map(|(at, name)| {
        let rest = format!(
            "\"Name\":\"{name}\",\"CapacityMiB\":32768,\"MemoryDeviceType\":\"DDR4\",\
             \"OperatingSpeedMhz\":2933,\"AllowedSpeedsMHz\":[2933],\"MemoryLocation\":\
             {{\"Socket\":{},\"MemoryController\":{},\"Channel\":{},\"Slot\":1}}",
            at / 6,
            at % 6 / 3,
            at % 3
        );
        one("Memory", &format!("{SYSTEM}/Memory/{name}"), &rest)
    }));
    all
}

fn processors() -> Vec<(String, String)> {
    let names = ["CPU1".to_owned(), "CPU2".to_owned()];
    let mut all = vec![list("Processor", &format!("{SYSTEM}/Processors"), &names)];
    all.extend(names.iter().map(|name| {
        let rest = format!(
            "\"Id\":\"{name}\",\"Socket\":\"{name}\",\"ProcessorType\":\"CPU\",\"TotalCores\":20,\
             \"TotalThreads\":40,\"Model\":\"Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz\""
        );
        one("Processor", &format!("{SYSTEM}/Processors/{name}"), &rest)
    }));
    all
}

fn cards() -> Vec<(String, String)> {
    let devices = format!("{CHASSIS}/PCIeDevices");
    let (card, functions) = (format!("{devices}/NIC"), format!("{devices}/NIC/PCIeFunctions"));
    let rest = format!(
        "\"Id\":\"NIC\",\"Model\":\"ConnectX\",\"PCIeInterface\":{{\"PCIeType\":\"Gen3\",\
         \"MaxPCIeType\":\"Gen3\",\"LanesInUse\":8,\"MaxLanes\":16}},\"PCIeFunctions\":{}",
        link(&functions)
    );
    vec![
        list("PCIeDevice", &devices, &["NIC".into()]),
        one("PCIeDevice", &card, &rest),
        list("PCIeFunction", &functions, &["1".into()]),
        one("PCIeFunction", &format!("{functions}/1"), "\"ClassCode\":\"0x020000\""),
    ]
}
