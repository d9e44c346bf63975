// softmax(q · kᵀ / √d + bias) · v of one head for 64 queries of one sequence, with a running maximum and
// sum (Milakov & Gimelshein 2018), so that no score is ever written to memory.
//
// A lane has EACH queries: what it takes from workgroup memory serves all of them. It takes FOURS times four keys
// between two looks at its maximum. ALiBi takes slope · distance from a score.

struct Scalars {
    // Where in `inputs` the tiles begin (first row of the sequence, its rows, first query of the tile),
    // and the slopes.
    tiles: u32,
    slopes: u32,
    scale: f32,
}

var<immediate> scalars: Scalars;

@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> qkv: array<Value4>;
@group(0) @binding(2) var<storage, read_write> mixed: array<Value4>;

const KEYS = 32u;

var<workgroup> keys: array<vec4<f32>, KEYS * HEAD_QUADS>;
var<workgroup> values: array<vec4<f32>, KEYS * HEAD_QUADS>;

fn greatest4(scores: vec4<f32>) -> f32 {
    return max(max(scores.x, scores.y), max(scores.z, scores.w));
}

@compute @workgroup_size(LANES)
fn attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tile = scalars.tiles + 3u * group.x;
    let first = inputs[tile];
    let count = inputs[tile + 1u];
    let head = group.y * HEAD_QUADS;
    var slope = 0.0;
    if ALIBI == 1u {
        slope = bitcast<f32>(inputs[scalars.slopes + group.y]);
    }
#each q EACH
    let query_at_$q = inputs[tile + 2u] + lane + $qu * LANES;
    // Queries beyond the sequence repeat its last one and are not written.
    let query_row_$q = (first + min(query_at_$q, count - 1u)) * 3u * QUADS + head;
    var query_$q: array<vec4<f32>, HEAD_QUADS>;
    var sum_$q: array<vec4<f32>, HEAD_QUADS>;
    for (var at = 0u; at < HEAD_QUADS; at++) {
        query_$q[at] = value4(qkv[query_row_$q + at]) * scalars.scale;
        sum_$q[at] = vec4<f32>();
    }
    var greatest_$q = -1e30;
    var weights_$q = 0.0;
#end
    for (var tile_key = 0u; tile_key < count; tile_key += KEYS) {
        workgroupBarrier();
        for (var at = lane; at < KEYS * HEAD_QUADS; at += LANES) {
            let key = min(tile_key + at / HEAD_QUADS, count - 1u);
            let from_row = (first + key) * 3u * QUADS + head + at % HEAD_QUADS;
            keys[at] = value4(qkv[from_row + QUADS]);
            values[at] = value4(qkv[from_row + 2u * QUADS]);
        }
        workgroupBarrier();
        let there = min(KEYS, count - tile_key);
        for (var key = 0u; key < there; key += 4u * FOURS) {
            let from_key = key * HEAD_QUADS;
#each q EACH
#each f FOURS
            var scores_$q_$f = vec4<f32>();
#end
#end
            for (var at = 0u; at < HEAD_QUADS; at++) {
#each f FOURS
                let a_$f = keys[from_key + at + 4u * $fu * HEAD_QUADS];
                let b_$f = keys[from_key + at + (4u * $fu + 1u) * HEAD_QUADS];
                let c_$f = keys[from_key + at + (4u * $fu + 2u) * HEAD_QUADS];
                let d_$f = keys[from_key + at + (4u * $fu + 3u) * HEAD_QUADS];
#end
#each q EACH
                let part_$q = query_$q[at];
#each f FOURS
                scores_$q_$f += vec4(
                    dot(part_$q, a_$f), dot(part_$q, b_$f), dot(part_$q, c_$f), dot(part_$q, d_$f),
                );
#end
#end
            }
#each q EACH
            var now_$q = greatest_$q;
#each f FOURS
            let key_$q_$f = vec4<u32>(key + 4u * $fu) + vec4<u32>(0u, 1u, 2u, 3u);
            if ALIBI == 1u {
                scores_$q_$f -= slope * abs(vec4<f32>(key_$q_$f + tile_key) - f32(query_at_$q));
            }
            scores_$q_$f = select(vec4<f32>(-1e30), scores_$q_$f, key_$q_$f < vec4<u32>(there));
            now_$q = max(now_$q, greatest4(scores_$q_$f));
#end
            let shrink_$q = exp(greatest_$q - now_$q);
            greatest_$q = now_$q;
            weights_$q *= shrink_$q;
#each f FOURS
            let weight_$q_$f = exp(scores_$q_$f - now_$q);
            weights_$q += (weight_$q_$f.x + weight_$q_$f.y) + (weight_$q_$f.z + weight_$q_$f.w);
#end
#end
            for (var at = 0u; at < HEAD_QUADS; at++) {
#each q EACH
                var total_$q = sum_$q[at] * shrink_$q;
#end
#each f FOURS
                let a_$f = values[from_key + at + 4u * $fu * HEAD_QUADS];
                let b_$f = values[from_key + at + (4u * $fu + 1u) * HEAD_QUADS];
                let c_$f = values[from_key + at + (4u * $fu + 2u) * HEAD_QUADS];
                let d_$f = values[from_key + at + (4u * $fu + 3u) * HEAD_QUADS];
#each q EACH
                total_$q += weight_$q_$f.x * a_$f + weight_$q_$f.y * b_$f
                    + weight_$q_$f.z * c_$f + weight_$q_$f.w * d_$f;
#end
#end
#each q EACH
                sum_$q[at] = total_$q;
#end
            }
        }
    }
#each q EACH
    if query_at_$q < count {
        let to_row = (first + query_at_$q) * QUADS + head;
        for (var at = 0u; at < HEAD_QUADS; at++) {
            mixed[to_row + at] = to_value4(sum_$q[at] / weights_$q);
        }
    }
#end
}
