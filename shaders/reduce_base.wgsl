// Sums over a workgroup for devices without subgroup operations.
//
// Every lane adds the partial sums up for itself: what one lane computed and all others read as a
// single value is not handled alike by every driver.

struct Place {
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
}

var<workgroup> partials: array<f32, THREADS>;

fn total(value: f32, place: Place) -> f32 {
    workgroupBarrier();
    partials[place.lane] = value;
    workgroupBarrier();
    var sum = 0.0;
    for (var at = 0u; at < THREADS; at++) {
        sum += partials[at];
    }
    return sum;
}
