// A row of QUADS times four components, spread over a workgroup, and its normalization (Ba et al. 2016).
//
// A lane keeps every THREADS-th quad from the first pass to the last.

const HELD = (QUADS + THREADS - 1u) / THREADS;

alias Held = array<vec4<f32>, HELD>;

fn sum4(quad: vec4<f32>) -> f32 {
    return (quad.x + quad.y) + (quad.z + quad.w);
}

fn normalized(held: ptr<function, Held>, epsilon: f32, place: Place) -> vec2<f32> {
    var sum = 0.0;
    for (var at = 0u; at < HELD; at++) {
        if at * THREADS + place.lane < QUADS {
            sum += sum4((*held)[at]);
        }
    }
    let mean = total(sum, place) / f32(4u * QUADS);
    var squares = 0.0;
    for (var at = 0u; at < HELD; at++) {
        if at * THREADS + place.lane < QUADS {
            let apart = (*held)[at] - mean;
            squares += dot(apart, apart);
        }
    }
    let variance = total(squares, place) / f32(4u * QUADS);
    return vec2<f32>(mean, inverseSqrt(variance + epsilon));
}
