/// Where the machine's power comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    Mains,
    Battery,
}

/// Where the power comes from now; a machine that does not tell is taken to be on mains.
///
/// Linux: the power supplies of sysfs. Nothing is asked on other systems yet.
#[must_use]
pub fn power() -> Power {
    #[cfg(target_os = "linux")]
    {
        power_of(std::path::Path::new("/sys/class/power_supply"))
    }
    #[cfg(not(target_os = "linux"))]
    Power::Mains
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
