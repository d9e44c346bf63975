// Sums over a workgroup: within subgroups first, then over their sums.

struct Place {
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
}

var<workgroup> partials: array<f32, THREADS>;

fn total(value: f32, place: Place) -> f32 {
    let mine = subgroupAdd(value);
    workgroupBarrier();
    if place.subgroup_lane == 0u {
        partials[place.subgroup] = mine;
    }
    workgroupBarrier();
    var sum = 0.0;
    for (var at = 0u; at < place.subgroups; at++) {
        sum += partials[at];
    }
    return sum;
}
