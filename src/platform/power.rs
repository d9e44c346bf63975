/// Where the machine's power comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    Mains,
    Battery,
}

/// Where the power comes from now; a machine that does not tell is taken to be on mains.
///
/// Linux: the power supplies of sysfs. macOS: whether the power sources name an end. Windows: the state
/// of the AC line.
#[must_use]
pub fn power() -> Power {
    #[cfg(target_os = "linux")]
    {
        power_of(std::path::Path::new("/sys/class/power_supply"))
    }
    #[cfg(any(target_os = "macos", windows))]
    {
        if system::is_on_battery() { Power::Battery } else { Power::Mains }
    }
    #[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
    Power::Mains
}

#[cfg(target_os = "macos")]
mod system {
    /// `kIOPSTimeRemainingUnlimited` of IOPowerSources.h: connected to power that does not run out.
    const UNLIMITED: f64 = -2.0;

    #[link(name = "IOKit", kind = "framework")]
    unsafe extern "C" {
        /// Seconds until the power sources are empty, or one of two negative values.
        safe fn IOPSGetTimeRemainingEstimate() -> f64;
    }

    pub fn is_on_battery() -> bool {
        IOPSGetTimeRemainingEstimate() > UNLIMITED
    }
}

#[cfg(windows)]
mod system {
    /// `SYSTEM_POWER_STATUS` of winbase.h.
    #[repr(C)]
    #[derive(Default)]
    struct Status {
        ac_line: u8,
        battery_flag: u8,
        battery_percent: u8,
        system_flag: u8,
        battery_seconds: u32,
        battery_seconds_full: u32,
    }

    const OFFLINE: u8 = 0;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetSystemPowerStatus(status: *mut Status) -> i32;
    }

    pub fn is_on_battery() -> bool {
        let mut status = Status::default();
        // SAFETY: the structure has the layout that the system documents and outlives the call.
        let is_known = unsafe { GetSystemPowerStatus(&raw mut status) } != 0;
        is_known && status.ac_line == OFFLINE
    }
}

/// On battery when one discharges and no line power is connected: some machines draw on the battery
/// while they are plugged in.
#[cfg(target_os = "linux")]
fn power_of(supplies: &std::path::Path) -> Power {
    let Ok(entries) = std::fs::read_dir(supplies) else { return Power::Mains };
    let (mut discharges, mut is_plugged_in) = (false, false);
    for supply in entries.flatten() {
        let read = |name| std::fs::read_to_string(supply.path().join(name)).unwrap_or_default();
        match read("type").trim() {
            // Of the machine: a mouse has a battery as well.
            "Battery" if read("scope").trim() != "Device" => {
                discharges |= read("status").trim() == "Discharging";
            }
            "Mains" | "USB" => is_plugged_in |= read("online").trim() == "1",
            _ => {}
        }
    }
    if discharges && !is_plugged_in { Power::Battery } else { Power::Mains }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn check(supplies: &[(&str, &[(&str, &str)])], expected: Power) {
        let dir = tempfile::tempdir().unwrap();
        for (supply, files) in supplies {
            std::fs::create_dir(dir.path().join(supply)).unwrap();
            for (name, content) in *files {
                std::fs::write(dir.path().join(supply).join(name), format!("{content}\n")).unwrap();
            }
        }
        assert_eq!(power_of(dir.path()), expected, "{supplies:?}");
    }

    #[test]
    fn a_laptop_is_on_battery_when_it_is_unplugged() {
        let battery = |status| ("BAT0", [("type", "Battery"), ("status", status)]);
        let (low, charging) = (battery("Discharging"), battery("Charging"));
        let unplugged: &[_] = &[("type", "Mains"), ("online", "0")];
        let plugged: &[_] = &[("type", "Mains"), ("online", "1")];
        check(&[("BAT0", &low.1), ("AC", unplugged)], Power::Battery);
        check(&[("BAT0", &low.1), ("AC", plugged)], Power::Mains);
        check(&[("BAT0", &charging.1)], Power::Mains);
        check(
            &[("mouse", &[("type", "Battery"), ("scope", "Device"), ("status", "Discharging")])],
            Power::Mains,
        );
        check(&[], Power::Mains);
    }
}
