//! What a drive draws over one idle period, when it rests in it and when not. The period is counted from the end of one
//! request to the arrival of the next, transitions included; a transition that has begun is paid in full.

use iojoule_disk::power::Standby;
use iojoule_units::{Joules, Nanos, Watts};

/// What both transitions draw above standby, `E_dn + E_up − P_standby (t_dn + t_up)`: the price of spinning down.
pub fn penalty(figures: &Standby) -> Joules {
    Joules(figures.transitions.0 - (figures.standby * (figures.spin_down + figures.spin_up)).0)
}

/// Spinning for `threshold`, then resting; spinning through where the period is not longer than that.
pub fn online(figures: &Standby, threshold: Nanos, period: Nanos) -> Joules {
    if period <= threshold {
        return figures.stay(period);
    }
    let resting = period - threshold - figures.spin_down - figures.spin_up;
    figures.stay(threshold) + figures.transitions + figures.standby * resting.max(Nanos::ZERO)
}

/// The least that any policy can draw, one that knows the period's length: at once at rest iff the period is longer
/// than the break-even.
pub fn oracle(figures: &Standby, period: Nanos) -> Joules {
    match figures.break_even() {
        Some(break_even) if period > break_even => online(figures, Nanos::ZERO, period),
        _ => figures.stay(period),
    }
}

/// Power of an array of which `on` of `drives` drives spin, each busy for the share `busy` of the time in which it
/// draws `active`, the others in standby: `Σ_on (P_idle + u (P_act − P_idle)) + (N − n) P_standby`.
pub fn gear_power(figures: &Standby, drives: u16, on: u16, busy: f64, active: Watts) -> Watts {
    let each = figures.idle.0 + busy * (active.0 - figures.idle.0);
    Watts(f64::from(on) * each + f64::from(drives - on) * figures.standby.0)
}

#[cfg(test)]
mod tests {
    use super::super::golden::{table, ultrastar};
    use super::*;

    fn near(ours: f64, theirs: f64) {
        assert!((ours - theirs).abs() <= 1e-8 * theirs.abs().max(1.0), "{ours} {theirs}");
    }

    #[test]
    fn resting_pays_above_the_break_even_and_nowhere_else() {
        let figures = ultrastar();
        near(penalty(&figures).0, 117.0);
        for row in table("000_break_even.csv") {
            let period = row.seconds("idle_s");
            near(figures.stay(period).0, row.number("recomputed_e_stay_j"));
            near(oracle(&figures, period).0, row.number("recomputed_e_oracle_j"));
            if let Some(sleep) = row.maybe("recomputed_e_sleep_j") {
                near(online(&figures, Nanos::ZERO, period).0, sleep);
            }
        }
    }

    #[test]
    fn the_oracle_never_rests_a_drive_that_rests_as_dearly_as_it_spins() {
        let figures = Standby { standby: Watts(10.2), ..ultrastar() };
        let long = Nanos::from_secs_f64(1e6);
        assert_eq!(oracle(&figures, long), figures.stay(long));
    }

    #[test]
    fn the_power_of_a_gear_is_that_of_its_drives_and_of_those_at_rest() {
        let figures = ultrastar();
        for row in table("000_paraid_power.csv") {
            let (drives, on) = (row.number("disks") as u16, row.number("active") as u16);
            let busy = row.number("utilization_active");
            let power = gear_power(&figures, drives, on, busy, Watts(13.5)).0;
            // The same work spread over all of them.
            let spread = busy * f64::from(on) / f64::from(drives);
            let all = gear_power(&figures, drives, drives, spread, Watts(13.5)).0;
            near(power, row.number("recomputed_power_w"));
            near(all, row.number("recomputed_all_active_power_w"));
            near((1.0 - power / all) * 100.0, row.number("recomputed_saving_pct"));
        }
    }

    #[test]
    fn no_gear_saves_more_than_its_drives_at_rest_save() {
        let figures = ultrastar();
        for row in table("000_paraid_gears.csv") {
            let (drives, on) = (row.number("disks") as u16, row.number("active") as u16);
            let idle = |on| gear_power(&figures, drives, on, 0.0, Watts(13.5)).0;
            near((1.0 - idle(on) / idle(drives)) * 100.0, row.number("recomputed_max_saving_standby_pct"));
        }
    }
}
