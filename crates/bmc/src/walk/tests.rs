use super::*;
use crate::{Access, Address, Fingerprint, Limits, Secret};
use serde_json::json;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// What a walk is made of; nobody is asked.
struct Way {
    order: Order,
    client: Client,
    session: Session,
    told: (Sender<Progress>, Receiver<Progress>),
}

impl Way {
    fn new(user: Option<&str>) -> Self {
        let address = Address::parse("redfish://bmc/redfish/v1/").expect("an address");
        let pin = Some(Fingerprint::of(b""));
        let second = Duration::from_secs(1);
        let limits = Limits {
            requests: 5,
            all_bytes: 900,
            all: 7 * second,
            connect: second,
            ..Limits::default()
        };
        let client = Client::new(&address, pin.clone(), &limits).expect("a client");
        let user = user.map(|name| (name.to_owned(), Secret::of("p")));
        let access = Access { user: None, pin: pin.clone() };
        let mut order = Order { address, access, limits, stopped: AtomicBool::new(false) };
        let session = Session::begin(&client, &order).expect("nobody signs in");
        order.access = Access { user, pin };
        Self { order, client, session, told: channel() }
    }

    fn walk(&self) -> Walk<'_> {
        Walk::new(&self.client, &self.session, &self.order, &self.told.0)
    }
}

fn answer(status: u16, body: &str) -> Answer {
    Answer { status, token: None, location: None, body: body.as_bytes().to_vec() }
}

#[test]
fn a_limit_is_told_when_it_is_passed_and_not_when_it_is_reached() {
    let way = Way::new(None);
    let says = |asked: usize, bytes: u64, seconds: u64| {
        let mut walk = way.walk();
        walk.bytes = bytes;
        walk.begun = Instant::now().checked_sub(Duration::from_secs(seconds)).expect("a time");
        walk.within_limits(asked).map_err(|error| error.to_string())
    };
    for within in [(0, 0, 0), (4, 900, 6), (4, 0, 0), (0, 900, 0), (0, 0, 6)] {
        assert_eq!(says(within.0, within.1, within.2), Ok(()), "{within:?}");
    }
    for (asked, bytes, seconds, what) in [
        (5, 0, 0, "5 resources"),
        (6, 901, 9, "5 resources"),
        (4, 901, 9, "900 bytes in all"),
        (4, 900, 8, "7 s for all resources"),
    ] {
        let says = says(asked, bytes, seconds);
        assert_eq!(says, Err(format!("redfish://bmc: more than {what}")));
    }
    way.order.stopped.store(true, Ordering::Relaxed);
    assert!(matches!(way.walk().within_limits(0), Err(BmcError::Stopped)));
}

#[test]
fn an_answer_is_a_resource_or_says_why_not() {
    let whole = "{\"@odata.type\":\"#Memory.v1_7_1.Memory\"}";
    let says = |user: Option<&str>, status: u16, body: &str, is_first: bool| {
        let way = Way::new(user);
        let mut walk = way.walk();
        let of = walk.resource("/p", &answer(status, body), is_first);
        let of = of.map(|found| found.is_some()).map_err(|error| error.to_string());
        (of, walk.found.unread)
    };
    assert_eq!(says(None, 200, whole, true), (Ok(true), vec![]));
    assert_eq!(says(None, 200, "{}", false), (Ok(true), vec![]), "its kind is not asked for");
    for (user, status, first, want) in [
        (None, 401, false, "redfish://bmc: it answers nothing without signing in (401 for /p)"),
        (None, 403, true, "redfish://bmc: it answers nothing without signing in (403 for /p)"),
        (Some("root"), 401, false, "redfish://bmc: root may not sign in (401)"),
        (Some("root"), 403, true, "redfish://bmc: /p is not a Redfish resource: status 403"),
        (None, 404, true, "redfish://bmc: /p is not a Redfish resource: status 404"),
    ] {
        let (of, unread) = says(user, status, whole, first);
        assert_eq!((of, unread.len()), (Err(want.to_owned()), 0), "{status}");
    }
    for (user, status) in [(Some("root"), 403), (None, 404), (None, 500), (None, 204)] {
        let why = format!("answered with status {status}");
        let unread = vec![Unread { link: "/p".into(), why }];
        assert_eq!(says(user, status, whole, false), (Ok(false), unread));
    }
    let wrong = |body: &str, is_first: bool| says(None, 200, body, is_first).0.expect_err(body);
    assert!(wrong("{\"a\":", false).contains("cut short"));
    for (body, is_first) in
        [("", false), ("<html>", true), ("{}", true), ("[]", false), ("7", true)]
    {
        assert!(wrong(body, is_first).contains("is not a Redfish resource"), "{body}");
    }
}

/// What is waited for after a resource, and what leads away.
fn followed(resource: &Value) -> (Vec<String>, Vec<String>) {
    let way = Way::new(None);
    let mut walk = way.walk();
    assert_eq!(walk.waiting, ["/redfish/v1/"]);
    walk.follow(resource);
    walk.follow(resource);
    walk.waiting.pop_front();
    let unread = walk.found.unread.into_iter().map(|unread| unread.link);
    (walk.waiting.into(), unread.collect())
}

#[test]
fn each_kind_of_resource_has_its_links_and_no_other() {
    let names = [
        "Systems",
        "Chassis",
        "Memory",
        "Processors",
        "PCIeDevices",
        "PCIeFunctions",
        "NetworkAdapters",
        "NetworkPorts",
        "Ports",
        "Members",
    ];
    let with = |kind: &str| {
        let mut all = serde_json::Map::new();
        let mut inside = serde_json::Map::new();
        for name in names {
            all.insert(name.into(), json!({ "@odata.id": format!("/redfish/v1/{name}") }));
            inside.insert(name.into(), json!([{ "@odata.id": format!("/redfish/v1/in/{name}") }]));
        }
        all.insert("Members@odata.nextLink".into(), json!("/redfish/v1/next"));
        all.insert("Links".into(), inside.into());
        all.insert("@odata.type".into(), json!(format!("#{kind}.v1_0_0.{kind}")));
        let (waits, unread) = followed(&all.into());
        assert_eq!(unread, Vec::<String>::new());
        waits.iter().map(|path| path["/redfish/v1/".len()..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(with("ServiceRoot"), ["Systems", "Chassis"]);
    let system = ["Memory", "Processors", "PCIeDevices", "PCIeFunctions", "in/Chassis"];
    assert_eq!(with("ComputerSystem"), system);
    assert_eq!(with("Chassis"), ["NetworkAdapters", "PCIeDevices"]);
    assert_eq!(with("NetworkAdapter"), ["NetworkPorts", "Ports"]);
    assert_eq!(with("PCIeDevice"), ["PCIeFunctions", "in/PCIeFunctions"]);
    assert_eq!(with("MemoryCollection"), ["Members", "next"]);
    assert_eq!(with("Memory"), Vec::<String>::new());
}

#[test]
fn a_link_is_followed_once_and_only_where_it_stays() {
    let collection = json!({
        "@odata.type": "#MemoryCollection.MemoryCollection",
        "Members": [
            { "@odata.id": "/redfish/v1/a" },
            { "@odata.id": "/redfish/v1/a/" },
            { "@odata.id": "https://bmc/redfish/v1/b#part" },
            { "@odata.id": "/redfish/v1" },
            { "@odata.id": "/admin" },
            { "@odata.id": "/redfish/v1/c", "@odata.type": "#Memory.v1_0_0.Memory" },
            { "@odata.id": 7 },
            7,
        ],
    });
    let (waits, unread) = followed(&collection);
    assert_eq!(waits, ["/redfish/v1/a", "/redfish/v1/b"]);
    assert_eq!(unread, ["/admin", "/admin"]);
    assert_eq!(followed(&json!({ "Members": "/redfish/v1/a" })), (vec![], vec![]));
}

#[test]
fn a_kind_is_the_first_word_of_its_type() {
    let of = |text: &str| kind(&json!({ "@odata.type": text })).map(str::to_owned);
    assert_eq!(of("#Memory.v1_7_1.Memory").as_deref(), Some("Memory"));
    assert_eq!(of("Chassis.Chassis").as_deref(), Some("Chassis"));
    assert_eq!(of("Chassis").as_deref(), Some("Chassis"));
    assert_eq!(kind(&json!({ "@odata.type": 7 })), None);
    assert_eq!(kind(&json!({})), None);
}
