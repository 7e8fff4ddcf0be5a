//! A signal now and then, so that a thread that sleeps in a read wakes up to look around. Without
//! it such a read could not be left when the other end is gone; with poll(2) before each read,
//! every wake-up would cost two system calls, which is a good part of a small message's time.

use crate::NativeError;
use std::time::Duration;

/// Interrupts system calls of the thread that made it, again and again, until it is dropped.
pub struct Ticker {
    timer: libc::timer_t,
}

/// Does nothing: that it ran is what interrupts a system call.
extern "C" fn wake(_: libc::c_int) {}

impl Ticker {
    /// Starts; the signal is the second real-time one, which nobody else uses here.
    pub fn start(every: Duration) -> Result<Self, NativeError> {
        let signal = libc::SIGRTMIN() + 1;
        // SAFETY: all-zero is a valid empty action and event.
        let (mut action, mut event): (libc::sigaction, libc::sigevent) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let handler: extern "C" fn(libc::c_int) = wake;
        action.sa_sigaction = handler as usize;
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        // SAFETY: no arguments. By the call's number: its name is in glibc since 2.30 alone.
        event.sigev_notify_thread_id = unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t };
        let mut timer = std::ptr::null_mut();
        let period = libc::timespec {
            tv_sec: every.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(every.subsec_nanos()),
        };
        let times = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: the handler touches nothing, so it may run at any point; without SA_RESTART
        // calls end early. Everything pointed to is ours and outlives the calls.
        let made = unsafe {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0
                && libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) == 0
        };
        if !made {
            return Err(NativeError::last("making a timer"));
        }
        let ticker = Self { timer };
        // SAFETY: the timer was just made.
        match unsafe { libc::timer_settime(timer, 0, &raw const times, std::ptr::null_mut()) } {
            0 => Ok(ticker),
            _ => Err(NativeError::last("starting a timer")),
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // SAFETY: made by `start`, deleted once.
        unsafe { libc::timer_delete(self.timer) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_read_that_nothing_comes_to_is_interrupted() {
        let mut ends = [0; 2];
        // SAFETY: two descriptors are made into an array of two.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        let _ticker = Ticker::start(Duration::from_millis(20)).expect("ticker");
        let began = Instant::now();
        let mut byte = 0u8;
        // SAFETY: one byte, ours.
        let got = unsafe { libc::read(ends[0], (&raw mut byte).cast(), 1) };
        assert_eq!(got, -1);
        assert!(began.elapsed() < Duration::from_secs(10));
        // SAFETY: made above, closed once.
        unsafe {
            libc::close(ends[0]);
            libc::close(ends[1]);
        }
    }

    /// What poll(2) says of nothing in so many milliseconds: 0 once they are over, -1 before.
    fn waited(milliseconds: libc::c_int) -> libc::c_int {
        // SAFETY: no descriptors.
        unsafe { libc::poll(std::ptr::null_mut(), 0, milliseconds) }
    }

    #[test]
    fn a_wait_is_interrupted_again_and_again_and_no_more_once_the_ticker_is_gone() {
        let ticker = Ticker::start(Duration::from_millis(20)).expect("ticker");
        assert_eq!([waited(10_000), waited(10_000), waited(10_000)], [-1; 3]);
        drop(ticker);
        assert_eq!(waited(200), 0);
    }
}
