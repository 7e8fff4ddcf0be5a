//! SYN cookies: a host that answers with them keeps nothing of a connection until its third packet,
//! and finds TCP's options again in the timestamp alone (kernel, `net/ipv4/syncookies.c`). Without
//! timestamps a connection has no window scaling and no selective acknowledgements then.

use crate::ends::End;
use crate::measured::Cell;
use narrows_model::reading::keys;

/// The setting; 2 sends cookies always, 1 while the queue of new connections is full.
const COOKIES: &str = "net.ipv4.tcp_syncookies";

/// The end that always sends cookies, where the connection has no timestamps to keep options in.
pub fn without_timestamps<'a>(cell: &Cell<'a>) -> Option<End<'a>> {
    let ends = [cell.sender(), cell.receiver()];
    let always = ends.into_iter().flatten().find(|end| end.setting(COOKIES) == Some("2"));
    always.filter(|_| cell.agreed(keys::OPTION_TIMESTAMPS) == Some(false))
}
