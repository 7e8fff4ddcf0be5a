//! A controller is asked over real TLS: what it tells, what is refused, and that the session ends.

mod common;

use common::{Controller, Fault, PASSWORD, SESSIONS, SYSTEM, USER};
use narrows_bmc::{Access, Address, BmcError, Fingerprint, Found, Limits, Secret, ask};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A member of the mockup.
const MODULE: &str = "/redfish/v1/Systems/1/Memory/DIMM3";

fn access(controller: &Controller, password: &str) -> Access {
    Access {
        user: Some((USER.to_owned(), Secret::of(&format!("{password}\n")))),
        pin: Some(Fingerprint::of(&controller.certificate)),
    }
}

fn limits() -> Limits {
    let second = Duration::from_secs(2);
    Limits { answer_bytes: 100_000, answer: second, connect: second, ..Limits::default() }
}

fn asked(controller: &Controller, access: Access, limits: Limits) -> Result<Found, BmcError> {
    let address = Address::parse(&controller.address()).expect("an address");
    ask(address, access, limits, &AtomicBool::new(false), |_| {})
}

/// What comes of a controller with a fault, for a user with the right password.
fn with(fault: Fault) -> (Controller, Result<Found, BmcError>) {
    let controller = Controller::new(fault);
    let found = asked(&controller, access(&controller, PASSWORD), limits());
    (controller, found)
}

fn refused(fault: Fault) -> BmcError {
    let (controller, found) = with(fault.clone());
    let error = found.map(|found| found.resources.len()).expect_err("a refusal");
    assert_signed_out(&controller, &format!("{fault:?}"));
    error
}

/// Who signed in signs out, as the last thing and once.
fn assert_signed_out(controller: &Controller, what: &str) {
    let asked = controller.asked();
    let last = asked.last().map(String::as_str);
    assert_eq!(
        last,
        Some("DELETE /redfish/v1/SessionService/Sessions/7 token"),
        "{what}: {asked:?}"
    );
}

#[test]
fn all_resources_are_asked_for_once_within_a_session() {
    let (controller, found) = with(Fault::None);
    let found = found.expect("resources");
    // Root, two collections and their members, memory and processors with theirs, the card.
    assert_eq!(found.resources.len(), 1 + 2 + 2 + 13 + 3 + 4);
    assert_eq!(found.unread, []);
    let asked = controller.asked();
    assert_eq!(asked[0], format!("POST {SESSIONS} nobody"));
    assert_eq!(asked.len(), 25 + 2, "{asked:?}");
    assert!(asked[1..].iter().all(|line| line.ends_with(" token")), "{asked:?}");
    assert_signed_out(&controller, "whole");
}

#[test]
fn a_controller_without_sessions_is_asked_with_the_password() {
    let (controller, found) = with(Fault::NoSessions);
    assert_eq!(found.expect("resources").resources.len(), 25);
    let asked = controller.asked();
    assert!(asked[1..].iter().all(|line| line.starts_with("GET") && line.ends_with(" basic")));
}

#[test]
fn a_wrong_password_and_none_are_told_apart() {
    let controller = Controller::new(Fault::None);
    let error = asked(&controller, access(&controller, "wrong"), limits()).expect_err("denied");
    assert!(matches!(error, BmcError::Denied { status: 401, .. }), "{error}");
    assert!(!error.to_string().contains("wrong"), "{error}");
    assert_eq!(controller.asked().len(), 1);
    let nobody = || Access { user: None, ..access(&controller, "") };
    let error = asked(&controller, nobody(), limits()).expect_err("denied");
    assert!(matches!(error, BmcError::NeedsUser { status: 401, .. }), "{error}");
    let open = Controller::new(Fault::Open);
    let nobody = Access { user: None, ..access(&open, "") };
    assert_eq!(asked(&open, nobody, limits()).expect("resources").resources.len(), 25);
}

#[test]
fn nothing_is_sent_to_a_certificate_that_is_not_believed() {
    let controller = Controller::new(Fault::None);
    let own = Fingerprint::of(&controller.certificate);
    for pin in [None, Some(Fingerprint::of(b"another"))] {
        let access = Access { pin, ..access(&controller, PASSWORD) };
        let error = asked(&controller, access, limits()).expect_err("a refusal");
        match &error {
            BmcError::Certificate { seen, .. } => assert_eq!(*seen, own, "{error}"),
            other => panic!("{other}"),
        }
        assert!(error.to_string().contains(&own.to_string()), "{error}");
    }
    assert_eq!(controller.asked(), Vec::<String>::new());
}

#[test]
fn answers_that_hang_end_late_or_never_are_refused() {
    let begun = Instant::now();
    let error = refused(Fault::Hangs(MODULE));
    assert!(matches!(&error, BmcError::Silent { path, .. } if path == MODULE), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let error = refused(Fault::Endless(MODULE));
    assert!(
        matches!(&error, BmcError::TooMuch { what, .. } if what.contains("100000 bytes")),
        "{error}"
    );
    for fault in [Fault::BreaksOff(MODULE), Fault::HalfJson(MODULE)] {
        let error = refused(fault);
        assert!(matches!(&error, BmcError::CutShort { path, .. } if path == MODULE), "{error}");
    }
    let error = refused(Fault::Says("/redfish/v1/", "<html>Sign in</html>"));
    assert!(matches!(error, BmcError::NotRedfish { .. }), "{error}");
    let error = refused(Fault::Says("/redfish/v1/", "[]"));
    assert!(matches!(error, BmcError::NotRedfish { .. }), "{error}");
}

#[test]
fn links_and_redirects_away_are_not_followed() {
    let other = Controller::new(Fault::Open);
    let away = format!("https://127.0.0.1:{}/redfish/v1/Systems", other.port);
    let error = refused(Fault::Redirects("/redfish/v1/Systems", away.clone()));
    assert!(matches!(&error, BmcError::Elsewhere { to, .. } if *to == away), "{error}");
    let error = refused(Fault::Redirects("/redfish/v1/Systems", "/redfish/v1/Systems".to_owned()));
    assert!(matches!(error, BmcError::Elsewhere { .. }), "it leads round: {error}");
    // One that stays is followed.
    let (_, found) = with(Fault::Redirects("/redfish/v1/", "/redfish/v1".to_owned()));
    assert_eq!(found.expect("resources").resources.len(), 25);
    let text = "{\"@odata.id\":\"/redfish/v1/Systems\",\"@odata.type\":\"#C.SystemCollection\",\
        \"Members\":[{\"@odata.id\":\"https://evil.example/redfish/v1/Systems/1\"},\
        {\"@odata.id\":\"/admin\"},{\"@odata.id\":\"/redfish/v1/../../etc/passwd\"},\
        {\"@odata.id\":\"/redfish/v1/Systems\"}]}";
    let text = text.replace("#C.System", "#ComputerSystemCollection.ComputerSystem");
    let (controller, found) = with(Fault::Says("/redfish/v1/Systems", text.leak()));
    let links: Vec<String> =
        found.expect("the rest").unread.into_iter().map(|unread| unread.link).collect();
    assert_eq!(
        links,
        ["https://evil.example/redfish/v1/Systems/1", "/admin", "/redfish/v1/../../etc/passwd"]
    );
    let asked = controller.asked();
    assert!(!asked.iter().any(|line| line.contains("admin") || line.contains("etc")), "{asked:?}");
    assert_eq!(other.asked(), Vec::<String>::new());
}

#[test]
fn what_is_not_given_is_said_and_too_much_is_refused() {
    let (_, found) = with(Fault::Status(MODULE, 500));
    let found = found.expect("the rest");
    assert_eq!(found.resources.len(), 24);
    assert_eq!((found.unread[0].link.as_str(), found.unread.len()), (MODULE, 1));
    let controller = Controller::new(Fault::None);
    for (limits, word) in [
        (Limits { requests: 5, ..limits() }, "5 resources"),
        (Limits { all_bytes: 900, ..limits() }, "900 bytes"),
        (Limits { all: Duration::ZERO, ..limits() }, "0 s"),
    ] {
        let error = asked(&controller, access(&controller, PASSWORD), limits).expect_err("limit");
        assert!(matches!(&error, BmcError::TooMuch { what, .. } if what.contains(word)), "{error}");
        assert_signed_out(&controller, word);
    }
}

#[test]
fn one_system_of_several_is_asked_about_by_its_address() {
    let controller = Controller::new(Fault::None);
    let text = format!("https://127.0.0.1:{}{SYSTEM}", controller.port);
    let address = Address::parse(&text).expect("an address");
    let access = access(&controller, PASSWORD);
    let found = ask(address, access, limits(), &AtomicBool::new(false), |_| {});
    // Without the root and the collections of systems and chassis.
    assert_eq!(found.expect("resources").resources.len(), 22);
}

#[test]
fn who_signs_in_is_known_by_a_token_or_by_each_password() {
    let token = "X-Auth-Token: 0123456789abcdef\r\n";
    let body = "{\"@odata.id\":\"/redfish/v1/SessionService/Sessions/7\"}";
    let header = "X-Auth-Token: 0123456789abcdef\r\n\
                  Location: /redfish/v1/SessionService/Sessions/7\r\n";
    for (status, head, body) in [(200, token, body), (201, token, body), (204, header, "")] {
        let (controller, found) = with(Fault::SignsIn(status, head, body));
        assert_eq!(found.expect("resources").resources.len(), 25, "{status}");
        assert_signed_out(&controller, "named by the body");
    }
    // A session without an address ends by itself; one of another host is left alone.
    let away = "X-Auth-Token: 0123456789abcdef\r\nLocation: https://evil.example/redfish/v1/7\r\n";
    for head in [token, away] {
        let (controller, found) = with(Fault::SignsIn(201, head, "{}"));
        assert_eq!(found.expect("resources").resources.len(), 25);
        assert!(controller.asked().iter().all(|line| !line.starts_with("DELETE")), "{head}");
    }
    for status in [404, 405, 501] {
        let (controller, found) = with(Fault::SignsIn(status, "", ""));
        assert_eq!(found.expect("resources").resources.len(), 25, "{status}");
        let asked = controller.asked();
        assert!(asked[1..].iter().all(|line| line.ends_with(" basic")), "{asked:?}");
    }
}

#[test]
fn who_may_not_sign_in_asks_for_nothing_more() {
    let elsewhere = "leads to '/redfish/v1/x', which is not followed";
    for (status, head, says) in [
        (400, "", "reader may not sign in (400)"),
        (403, "", "reader may not sign in (403)"),
        (499, "X-Auth-Token: t\r\n", "reader may not sign in (499)"),
        (300, "Location: /redfish/v1/x\r\n", elsewhere),
        (399, "Location: /redfish/v1/x\r\n", elsewhere),
        (201, "", "signing in was answered with 201 and no token"),
        (205, "X-Auth-Token: t\r\n", "signing in was answered with 205 and no token"),
        (500, "", "signing in was answered with 500 and no token"),
    ] {
        let (controller, found) = with(Fault::SignsIn(status, head, ""));
        let error = found.map(|found| found.resources.len()).expect_err("a refusal");
        assert!(error.to_string().ends_with(says), "{error}");
        assert_eq!(controller.asked(), [format!("POST {SESSIONS} nobody")], "{status}");
    }
}

#[test]
fn three_redirects_are_followed_and_no_more() {
    let systems = "/redfish/v1/Systems";
    let (_, found) = with(Fault::Leads(systems, 3));
    assert_eq!(found.expect("resources").resources.len(), 25);
    let (controller, found) = with(Fault::Leads(systems, 4));
    let error = found.map(|found| found.resources.len()).expect_err("a refusal");
    assert!(
        matches!(&error, BmcError::Elsewhere { path, .. } if path == "/redfish/v1/Systems////")
    );
    assert_signed_out(&controller, "led on");
}

#[test]
fn a_stop_between_two_requests_is_the_last_of_them() {
    let controller = Controller::new(Fault::None);
    let address = Address::parse(&controller.address()).expect("an address");
    let (stop, mut shown) = (AtomicBool::new(false), Vec::new());
    let found = ask(address, access(&controller, PASSWORD), limits(), &stop, |progress| {
        shown.push((progress.done, progress.waiting));
        stop.store(true, Ordering::Relaxed);
    });
    assert!(matches!(found, Err(BmcError::Stopped)), "{found:?}");
    assert_eq!(shown, [(1, 2)], "the root leads to systems and chassis");
    assert_signed_out(&controller, "stopped");
}

#[test]
fn nobody_is_reached_where_nothing_answers() {
    let controller = Controller::new(Fault::None);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let address = Address::parse(&format!("redfish://127.0.0.1:{port}")).expect("an address");
    let access = access(&controller, PASSWORD);
    let error = ask(address, access, limits(), &AtomicBool::new(false), |_| {});
    let error = error.map(|found| found.resources.len()).expect_err("nobody");
    assert!(matches!(error, BmcError::Unreachable { .. }), "{error}");
}

#[test]
fn a_stop_ends_a_request_that_hangs_and_the_session() {
    let controller = Controller::new(Fault::Hangs(MODULE));
    let address = Address::parse(&controller.address()).expect("an address");
    let access = access(&controller, PASSWORD);
    let stop = Arc::new(AtomicBool::new(false));
    let (own, limits) = (stop.clone(), Limits { answer: Duration::from_secs(50), ..limits() });
    let waiting = thread::spawn(move || {
        let mut most = 0;
        let found = ask(address, access, limits, &own, |progress| most = progress.done);
        (found, most)
    });
    let hangs = format!("GET {MODULE} token");
    while !controller.asked().contains(&hangs) {
        thread::sleep(Duration::from_millis(5));
    }
    stop.store(true, Ordering::Relaxed);
    let (found, most) = waiting.join().expect("an end");
    assert!(matches!(found, Err(BmcError::Stopped)), "{found:?}");
    assert!(most > 0, "no progress was shown");
    assert_signed_out(&controller, "stopped");
}
