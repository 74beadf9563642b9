//! Who is connected: a bounded number of seats, shared so that nobody keeps all others out.
//!
//! One process has at most half of them. When a seat is needed and none is free, whoever was let in and has not greeted
//! for a moment goes first, then whoever has long been idle; those of the process with most seats before others. Whoever
//! waits for an answer keeps its seat, and so does a connection that is held open on purpose ([`Guest::stay`]), which has
//! a bound of its own.
//!
//! # Hazards
//!
//! - Where the system tells no pid of a peer (macOS) only the total of 128 holds.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use baton_base::limits;

/// How long somebody who was let in and says nothing keeps a seat that another needs.
const ARRIVING: Duration = Duration::from_millis(250);
/// How long somebody who asks nothing keeps a seat that another needs.
const IDLE: Duration = Duration::from_secs(5);

/// All seats.
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

/// What somebody who is connected does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Has not greeted yet.
    Arriving,
    /// Has greeted, and asks nothing.
    Idle,
    /// Waits for an answer.
    Calling,
    /// Is only there.
    Staying,
}

/// One seat; given back when this is dropped.
pub(super) struct Guest {
    number: u64,
    guests: Guests,
    leave: Arc<Notify>,
}

impl Guests {
    /// A seat for somebody of this process. `None`: there is none.
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
    /// Seats that count, of those that are meant.
    fn taken(&self, meant: impl Fn(&Seat) -> bool) -> usize {
        self.seats.values().filter(|seat| seat.doing != Doing::Staying && meant(seat)).count()
    }

    /// Takes a seat away from one of those that are meant. `None`: all of them need theirs.
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
    /// Notes what it does now.
    pub(super) fn does(&self, doing: Doing) {
        let now = Instant::now();
        if let Some(seat) = self.guests.room().seats.get_mut(&self.number)
            && seat.doing != Doing::Staying
        {
            (seat.doing, seat.since) = (doing, now);
        }
    }

    /// From now on it is only there: it takes no seat from those who call, and is not asked to leave. `false`: too many
    /// are already.
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

    /// Completes when its seat was given to another.
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
            // However many one process has, another comes in.
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
        // A seat that was given away is not given back.
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
