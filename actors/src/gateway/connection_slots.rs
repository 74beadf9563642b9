//! Connection slots: a bounded number, shared fairly, so that no client shuts out all others.
//!
//! One process has at most half of them. When a slot is needed and none is free, a connection that has not greeted for
//! a moment is dropped first, then one that has been idle for long; those of the process with most slots go before
//! others. A connection that waits for an answer keeps its slot, and so does one that is held open on purpose
//! ([`Guest::stay`]), which has a limit of its own.
//!
//! # Hazards
//!
//! - Where the system reports no pid of a peer (macOS), only the total of 128 holds.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use baton_base::limits;

/// How long a connection that has not greeted keeps a slot that another needs.
const ARRIVING: Duration = Duration::from_millis(250);
/// How long an idle connection keeps a slot that another needs.
const IDLE: Duration = Duration::from_secs(5);

/// All slots.
#[derive(Clone, Default)]
pub(super) struct Guests(Arc<Mutex<Room>>);

#[derive(Default)]
struct Room {
    seats: BTreeMap<u64, Seat>,
    next: u64,
}

struct Seat {
    process: Option<u32>,
    doing: Doing,
    since: Instant,
    leave: Arc<Notify>,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Has not greeted yet.
    Arriving,
    /// Has greeted and makes no call.
    Idle,
    /// Waits for an answer.
    Calling,
    /// Is held open to show that its process lives.
    Staying,
}

/// One slot, freed on drop.
pub(super) struct Guest {
    number: u64,
    guests: Guests,
    leave: Arc<Notify>,
}

impl Guests {
    /// Allocates a slot for a connection of this process. Returns `None` if there is none.
    pub(super) fn admit(&self, process: Option<u32>) -> Option<Guest> {
        self.admit_at(process, Instant::now())
    }

    fn admit_at(&self, process: Option<u32>, now: Instant) -> Option<Guest> {
        let mut room = self.room();
        let own = |seat: &Seat| process.is_some() && seat.process == process;
        if room.taken(own) >= limits::CONNECTIONS_PER_PROCESS {
            room.make_way(own, now)?;
        }
        if room.taken(|_| true) >= limits::CONNECTIONS {
            room.make_way(|_| true, now)?;
        }
        let number = room.next;
        room.next += 1;
        let leave = Arc::new(Notify::new());
        room.seats.insert(number, Seat { process, doing: Doing::Arriving, since: now, leave: leave.clone() });
        drop(room);
        Some(Guest { number, guests: self.clone(), leave })
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// Number of occupied slots that count and satisfy `meant`.
    fn taken(&self, meant: impl Fn(&Seat) -> bool) -> usize {
        self.seats.values().filter(|seat| seat.doing != Doing::Staying && meant(seat)).count()
    }

    /// Frees one of the slots that satisfy `meant`. Returns `None` if all of them are in use.
    fn make_way(&mut self, meant: impl Fn(&Seat) -> bool, now: Instant) -> Option<()> {
        let mut of_process: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        for seat in self.seats.values() {
            *of_process.entry(seat.process).or_default() += 1;
        }
        let spare = |seat: &Seat| {
            let waited = now.saturating_duration_since(seat.since);
            match seat.doing {
                Doing::Arriving => waited >= ARRIVING,
                Doing::Idle => waited >= IDLE,
                Doing::Calling | Doing::Staying => false,
            }
        };
        let order = |(number, seat): &(&u64, &Seat)| {
            let seats = of_process.get(&seat.process).copied().unwrap_or_default();
            (seat.doing != Doing::Arriving, Reverse(seats), seat.since, **number)
        };
        let goes = self.seats.iter().filter(|(_, seat)| meant(seat) && spare(seat)).min_by_key(order);
        let number = *goes?.0;
        let seat = self.seats.remove(&number)?;
        seat.leave.notify_one();
        Some(())
    }
}

impl Guest {
    /// Records the connection's state.
    pub(super) fn does(&self, doing: Doing) {
        let now = Instant::now();
        if let Some(seat) = self.guests.room().seats.get_mut(&self.number)
            && seat.doing != Doing::Staying
        {
            (seat.doing, seat.since) = (doing, now);
        }
    }

    /// Marks the connection as held open: it no longer counts and is not dropped for others. Returns `false` if there
    /// are too many of these.
    pub(super) fn stay(&self) -> bool {
        let mut room = self.guests.room();
        let staying = room.seats.values().filter(|seat| seat.doing == Doing::Staying).count();
        match room.seats.get_mut(&self.number) {
            Some(seat) if seat.doing == Doing::Staying => true,
            Some(seat) if staying < limits::PRESENCES => {
                seat.doing = Doing::Staying;
                true
            }
            _ => false,
        }
    }

    /// Resolves when the slot was given to another connection.
    pub(super) async fn asked_to_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.guests.room().seats.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(guests: &Guests, process: u32, count: usize, doing: Doing, since: Instant) -> Vec<Guest> {
        let mut crowd = Vec::new();
        for _ in 0..count {
            let guest = guests.admit_at(Some(process), since).expect("a seat");
            guests.room().seats.get_mut(&guest.number).expect("seated").doing = doing;
            crowd.push(guest);
        }
        crowd
    }

    fn seats(guests: &Guests, process: u32) -> usize {
        guests.room().taken(|seat| seat.process == Some(process))
    }

    const HALF: usize = limits::CONNECTIONS_PER_PROCESS;

    #[test]
    fn who_gives_way_and_who_does_not() {
        let check = |doing: Doing, waited: Duration, gives_way: bool| {
            let (guests, since) = (Guests::default(), Instant::now());
            let crowd = crowd(&guests, 1, HALF, doing, since);
            let let_in = guests.admit_at(Some(1), since + waited);
            assert_eq!(let_in.is_some(), gives_way, "{doing:?} after {waited:?}");
            assert_eq!(seats(&guests, 1), HALF, "{doing:?}");
            // However many slots one process has, another process gets one.
            assert!(guests.admit_at(Some(2), since + waited).is_some(), "{doing:?}");
            drop(crowd);
        };
        check(Doing::Arriving, Duration::ZERO, false);
        check(Doing::Arriving, ARRIVING, true);
        check(Doing::Idle, ARRIVING, false);
        check(Doing::Idle, IDLE, true);
        check(Doing::Calling, IDLE * 100, false);
    }

    #[tokio::test]
    async fn the_silent_one_of_the_largest_crowd_that_came_first_goes_first() {
        let (guests, since) = (Guests::default(), Instant::now());
        let step = Duration::from_millis(1);
        let _idle = crowd(&guests, 1, HALF, Doing::Idle, since);
        let few = crowd(&guests, 2, 2, Doing::Arriving, since);
        let many = crowd(&guests, 3, HALF - 2, Doing::Arriving, since + step);
        let newcomer = guests.admit_at(Some(4), since + ARRIVING + step).expect("somebody gives way");
        many[0].asked_to_leave().await;
        assert_eq!((seats(&guests, 1), seats(&guests, 2), seats(&guests, 3)), (HALF, 2, HALF - 3));
        // Dropping a reassigned slot does not free it.
        drop(many);
        assert_eq!(seats(&guests, 4), 1);
        drop((few, newcomer));
        assert_eq!(guests.room().seats.len(), HALF);
    }

    #[test]
    fn those_who_stay_take_no_seats_and_are_bounded() {
        let (guests, since) = (Guests::default(), Instant::now());
        let mut staying = Vec::new();
        for number in 0..limits::PRESENCES {
            let guest = guests.admit_at(Some(u32::try_from(number).expect("few")), since).expect("a seat");
            assert!(guest.stay() && guest.stay(), "{number}");
            guest.does(Doing::Idle);
            staying.push(guest);
        }
        let one_more = guests.admit_at(Some(1), since).expect("a seat");
        assert!(!one_more.stay());
        assert_eq!(guests.room().taken(|_| true), 1);
        assert!(guests.room().make_way(|seat| seat.doing == Doing::Staying, since + IDLE * 100).is_none());
        staying.pop();
        assert!(one_more.stay());
    }

    #[test]
    fn without_a_known_process_all_seats_are_for_all() {
        let (guests, since) = (Guests::default(), Instant::now());
        let all: Vec<_> = (0..limits::CONNECTIONS).map(|_| guests.admit_at(None, since).expect("a seat")).collect();
        assert!(guests.admit_at(None, since).is_none());
        drop(all);
        assert!(guests.admit_at(None, since).is_some());
    }
}
