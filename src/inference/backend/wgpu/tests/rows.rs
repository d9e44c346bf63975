//! The rows of the contract (`docs/gpu.md`), each by its name, on counters.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::encoders::{JINA_LAYERS, batch, jina_with_counters};
use super::*;
use crate::gpu::EncoderModel as _;
use crate::inference::Encoder;

fn stream() -> Stream {
    Stream::new(Arc::clone(&GPU), DEPTH)
}

/// A tensor of its own that a recording defines by copying to it.
fn tensor(stream: &mut Stream, values: &[f32]) -> Tensor {
    let (shape, init) = ([1, values.len()], Init::Copy(values));
    Tensor::new(stream, shape, Numbers::F32, Storage::Dedicated, &init).unwrap()
}

fn ids(count: usize) -> Vec<u32> {
    (0..count).map(|at| (at * 11 % 61) as u32).collect()
}

/// Passages of 40 tokens, in pieces of two.
fn many(encoder: &mut Encoder<WgpuBackend>) -> TokenBatch {
    encoder.backend().batch_tokens_max = 80;
    let ids = ids(40);
    batch([&ids[..]; 10])
}

fn warm(encoder: &mut Encoder<WgpuBackend>, batch: &TokenBatch) {
    encoder.embed(batch).unwrap();
    encoder.embed(batch).unwrap();
}

#[test]
fn m1_m5_submissions_are_finished_in_order_with_label_and_time() {
    let mut stream = stream();
    let mut finished = Vec::new();
    for value in 0..2 {
        tensor(&mut stream, &[value as f32; 4]);
        // What is over by then is told here.
        finished.extend(stream.commit().unwrap());
    }
    finished.extend(stream.flush().unwrap());
    let [first, second] = &finished[..] else { panic!("{finished:?}") };
    assert_eq!((first.submission.number(), second.submission.number()), (0, 1));
    for completion in &finished {
        assert_eq!((completion.label, completion.backend), ("copy", "vulkan"));
        assert!(completion.elapsed > Duration::ZERO);
    }
}

#[test]
fn m2_m3_never_more_than_the_depth_is_in_flight() {
    let depth = NonZeroUsize::new(2).unwrap();
    let mut stream = Stream::new(Arc::clone(&GPU), depth);
    for value in 0..20 {
        tensor(&mut stream, &[value as f32; 4]);
        stream.commit().unwrap();
        assert!(stream.in_flight() <= 2);
    }
    stream.flush().unwrap();
    let counters = stream.counters();
    assert_eq!(counters.submissions, 20);
    assert!(counters.in_flight_max <= 2, "{counters:?}");
}

/// Software has often finished one before the next is begun, so this looks at the answers that are due.
#[test]
fn m2_three_forwards_are_in_flight_while_many_are_embedded() {
    let mut encoder = jina_with_counters();
    let batch = many(&mut encoder);
    warm(&mut encoder, &batch);
    let counters = encoder.backend().counters();
    assert_eq!((counters.submissions, counters.unread_max), (10, 3), "{counters:?}");
}

#[test]
fn m4_submit_collect_wait_and_flush_return_what_is_finished() {
    let mut stream = stream();
    let first = tensor(&mut stream, &[1.0; 4]).defined().clone();
    let mut finished = stream.commit().unwrap();
    tensor(&mut stream, &[2.0; 4]);
    finished.extend(stream.commit().unwrap());
    finished.extend(stream.wait_for(&first).unwrap());
    assert!(first.is_completed());
    assert!(finished.iter().any(|completion| completion.submission == first));
    finished.extend(stream.flush().unwrap());
    assert_eq!(finished.len(), 2);
    assert!(stream.collect().unwrap().is_empty());
}

#[test]
fn m6_a_recording_is_open_only_when_something_was_recorded() {
    let mut stream = stream();
    assert!(stream.commit().unwrap().is_empty());
    assert_eq!(stream.counters().submissions, 0);
    let first = stream.recording("one").unwrap().submission().clone();
    let same = stream.recording("two").unwrap().submission().clone();
    assert_eq!(first, same);
}

#[test]
fn m8_latency_mode_gives_every_operation_a_submission_and_a_time() {
    let mut encoder = jina_with_counters();
    let batch = batch([&ids(20)[..]]);
    warm(&mut encoder, &batch);
    let backend = encoder.backend();
    backend.stream().set_mode(Mode::Latency);
    let before = backend.counters();
    encoder.embed(&batch).unwrap();
    let after = encoder.backend().counters();
    // Embedding, five operations a layer, and pooling.
    assert_eq!(after.submissions - before.submissions, 1 + 5 * JINA_LAYERS + 1);
    assert_eq!(after.waits_while_recording, 0);
    assert_eq!(encoder.backend().stream().in_flight(), 0);
}

#[test]
fn m9_a_flush_leaves_nothing_behind() {
    let mut stream = stream();
    let tensor = tensor(&mut stream, &[1.0; 4]);
    assert!(!tensor.defined().is_committed());
    stream.flush().unwrap();
    assert!(tensor.defined().is_completed());
    assert_eq!(stream.in_flight(), 0);
}

/// What a submission was prepared with serves the next ones as soon as it is over.
#[test]
fn m10_m12_staging_buffers_come_back() {
    let mut stream = Stream::new(Gpu::open(&AdapterChoice::Software).unwrap(), DEPTH);
    for value in 0..20 {
        let tensor = tensor(&mut stream, &[value as f32; 4]);
        assert_eq!(tensor.read(&mut stream).unwrap(), [value as f32; 4]);
    }
    // The tensors themselves, and one of either staging.
    assert_eq!(stream.counters().buffers, 22);
}

#[test]
fn m11_waiting_is_counted_where_it_was_asked_for() {
    let mut stream = Stream::new(Arc::clone(&GPU), NonZeroUsize::MIN);
    for value in 0..8 {
        tensor(&mut stream, &[value as f32; 4096]);
        stream.commit().unwrap();
    }
    let counters = stream.counters();
    assert_eq!(stream.waited("read"), Duration::ZERO);
    assert_eq!(counters.waits > 0, stream.waited("room") > Duration::ZERO);
    assert_eq!(counters.waits_while_recording, 0);
}

#[test]
fn m13_a_profile_times_every_submission_on_the_device() {
    let mut encoder = jina_with_counters();
    encoder.backend().stream().profile(true);
    let batch = batch([&ids(64)[..]]);
    encoder.embed(&batch).unwrap();
    encoder.embed(&batch).unwrap();
    let stream = encoder.backend().stream();
    let finished = stream.flush().unwrap();
    assert_eq!(finished.len(), 2);
    for completion in finished {
        let device = completion.device.expect("the driver has timestamps");
        assert!(device > Duration::ZERO && device <= completion.elapsed, "{completion:?}");
    }
}

#[test]
fn s1_s2_reading_waits_for_the_submission_that_defines_and_no_other() {
    let mut stream = stream();
    let first = tensor(&mut stream, &[1.0; 4]);
    stream.commit().unwrap();
    assert!(first.defined().is_committed());
    let second = tensor(&mut stream, &[2.0; 4]);
    assert_eq!(first.read(&mut stream).unwrap(), [1.0; 4]);
    // The second is still being recorded.
    assert!(first.defined().is_completed() && !second.defined().is_committed());
    assert_eq!(second.read(&mut stream).unwrap(), [2.0; 4]);
}

#[test]
fn s3_reading_in_the_middle_opens_another_recording() {
    let mut stream = stream();
    let first = tensor(&mut stream, &[1.0; 4]);
    first.read(&mut stream).unwrap();
    let second = tensor(&mut stream, &[2.0; 4]);
    assert_ne!(first.defined(), second.defined());
    assert_eq!(second.read(&mut stream).unwrap(), [2.0; 4]);
}

#[test]
fn s4_reading_again_is_free() {
    let mut stream = stream();
    let tensor = tensor(&mut stream, &[1.0; 4]);
    tensor.read(&mut stream).unwrap();
    let once = stream.counters();
    assert_eq!(tensor.read(&mut stream).unwrap(), [1.0; 4]);
    assert_eq!(stream.counters(), once);
    assert_eq!(once.host_reads, 1);
}

#[test]
fn s7_several_tensors_are_on_their_way_to_the_host_at_once() {
    let mut stream = stream();
    let tensors = [1.0, 2.0].map(|value| tensor(&mut stream, &[value; 4]));
    let on_the_way = tensors.each_ref().map(|tensor| tensor.read_async(&mut stream).unwrap());
    assert!(on_the_way.iter().all(|read_back| read_back.submission().is_committed()));
    assert_eq!(stream.counters().host_reads, 0);
    for (read_back, value) in on_the_way.into_iter().zip([1.0_f32, 2.0]) {
        let bytes = stream.finish(read_back, <[u8]>::to_vec).unwrap();
        assert_eq!(bytes, value.to_le_bytes().repeat(4));
    }
}

#[test]
fn s8_t5_a_forward_is_one_submission_that_waits_for_nothing() {
    let mut encoder = jina_with_counters();
    let batch = batch([&ids(100)[..], &ids(30)]);
    warm(&mut encoder, &batch);
    let before = encoder.backend().counters();
    encoder.embed(&batch).unwrap();
    let after = encoder.backend().counters();
    assert_eq!(after.submissions - before.submissions, 1);
    assert_eq!(after.passes - before.passes, 1);
    // Embedding, seven kernels a layer, and pooling.
    assert_eq!(after.dispatches - before.dispatches, 1 + 7 * JINA_LAYERS + 1);
    assert_eq!(after.waits_while_recording, 0);
    assert_eq!(after.host_reads - before.host_reads, 1);
    assert!(after.waits - before.waits <= 1);
}

#[test]
fn s10_g3_nothing_is_made_in_a_step_after_the_first() {
    let mut encoder = jina_with_counters();
    let (many, few) = (many(&mut encoder), batch([&ids(12)[..]]));
    warm(&mut encoder, &many);
    warm(&mut encoder, &few);
    let before = encoder.backend().counters();
    for _ in 0..4 {
        encoder.embed(&many).unwrap();
        encoder.embed(&few).unwrap();
    }
    let after = encoder.backend().counters();
    assert!(after.submissions > before.submissions + 16);
    assert_eq!(after.pipelines, before.pipelines);
    assert_eq!(after.bind_groups, before.bind_groups);
    // Each submission has a buffer for its upload, and how many are on their way at once is chance: more may be made
    // until there is one for each.
    let made = after.buffers - before.buffers;
    assert!(made <= DEPTH.get() as u64, "{made} buffers in {} submissions", after.submissions);
}

#[test]
fn s11_a_tensor_lies_where_it_was_asked_to() {
    let mut stream = stream();
    let mut shelf = Shelf::new(Arc::clone(&GPU));
    let make = |stream: &mut Stream, storage: Storage<'_>, init: Init<'_>| {
        Tensor::new(stream, [1, 4], Numbers::F32, storage, &init).unwrap()
    };
    let values = [1.0, 2.0, 3.0, 4.0];
    let pooled = make(&mut stream, Storage::Pooled(&mut shelf), Init::Copy(&values));
    let borrowed = make(&mut stream, Storage::Dedicated, Init::Borrow(&pooled.block));
    assert_eq!(borrowed.read(&mut stream).unwrap(), values);
    let dedicated = make(&mut stream, Storage::Dedicated, Init::Uninitialized);
    assert_ne!(dedicated.block.id, pooled.block.id);
    let place = pooled.block.id;
    drop((pooled, borrowed));
    let again = make(&mut stream, Storage::Pooled(&mut shelf), Init::Uninitialized);
    assert_eq!(again.block.id, place);
}

/// A long forward is handed over in parts, and says so.
#[test]
fn t2_a_long_recording_is_handed_over() {
    let mut stream = stream();
    let mut kernels = Kernels::new(Arc::clone(&GPU), Tier::Base).unwrap();
    let buffer = || {
        let usage = wgpu::BufferUsages::STORAGE;
        GPU.buffer("rows", 64, usage, false).unwrap()
    };
    let blocks = [buffer(), buffer(), buffer(), buffer()];
    let blocks = blocks.each_ref().map(Some);
    let mut handed_over = 0;
    for _ in 0..600 {
        let recording = stream.recording("norm").unwrap();
        let norm = Program::Norm { quads: 1 };
        kernels.run(recording, norm, &blocks, &[0], [1, 1, 1]).unwrap();
        handed_over += usize::from(stream.operation_ends().unwrap());
    }
    assert_eq!(handed_over, 1);
    stream.flush().unwrap();
    assert_eq!(stream.counters().submissions, 2);
    assert_eq!(stream.counters().dispatches, 600);
}

#[test]
fn t3_a_device_that_is_gone_is_an_error_of_its_kind() {
    let gpu = Gpu::open(&AdapterChoice::Software).unwrap();
    let mut stream = Stream::new(Arc::clone(&gpu), DEPTH);
    tensor(&mut stream, &[1.0; 4]);
    gpu.lose();
    let error = stream.flush().unwrap_err();
    assert!(matches!(error, BackendError::Lost { .. }), "{error}");
    assert!(crate::gpu::ModelError::from(error).is_device_lost());
}

#[test]
fn t4_what_was_never_computed_cannot_be_read() {
    let mut stream = stream();
    let tensor = tensor(&mut stream, &[1.0; 4]);
    stream.abandon();
    let error = tensor.read(&mut stream).unwrap_err();
    assert!(error.to_string().ends_with("what was to be read was never computed"), "{error}");
    assert!(stream.wait_for(tensor.defined()).is_err());
}

#[test]
fn a_kernel_that_does_not_compile_is_an_error_that_names_it() {
    let layout =
        wgpu::PipelineLayoutDescriptor { label: None, bind_group_layouts: &[], immediate_size: 0 };
    let layout = GPU.device().create_pipeline_layout(&layout);
    let source = "@compute @workgroup_size(1) fn main() { let a: u32 = 1.0; }".to_owned();
    let error = GPU.pipeline("broken", source, "main", &layout).unwrap_err().to_string();
    assert!(error.contains("kernel broken: "), "{error}");
    // The device is as good as before.
    let mut stream = stream();
    assert_eq!(tensor(&mut stream, &[1.0; 4]).read(&mut stream).unwrap(), [1.0; 4]);
}

#[test]
fn a_buffer_without_room_is_refused_and_nothing_else_is_lost() {
    let error = GPU.buffer("huge", 1 << 40, wgpu::BufferUsages::STORAGE, false).unwrap_err();
    assert!(matches!(error, BackendError::OutOfMemory { .. }), "{error}");
    let mut stream = stream();
    assert_eq!(tensor(&mut stream, &[1.0; 4]).read(&mut stream).unwrap(), [1.0; 4]);
}

#[test]
fn the_ladder_takes_the_best_tier_that_computes_right_numbers() {
    let backend = WgpuBackend::open(&AdapterChoice::Software, DEPTH, None).unwrap();
    assert_eq!(backend.tier(), Tier::Subgroup);
    assert!(backend.notices().is_empty());
}

#[test]
fn a_tier_that_has_passed_is_not_tried_at_the_next_start() {
    let data_dir = tempfile::tempdir().unwrap();
    let open =
        || WgpuBackend::open(&AdapterChoice::Software, DEPTH, Some(data_dir.path())).unwrap();
    assert!(open().counters().submissions > 0);
    assert_eq!(open().counters().submissions, 0);
}

#[test]
fn a_software_driver_is_no_gpu() {
    // Where there is a GPU as well, it is taken.
    if let Ok(gpu) = Gpu::open(&AdapterChoice::Best) {
        assert!(!gpu.name().contains("llvmpipe"));
    }
    let named = Gpu::open(&AdapterChoice::Named("LLVMpipe".to_owned())).unwrap();
    assert!(named.name().contains("llvmpipe"));
    let missing = Gpu::open(&AdapterChoice::Named("Voodoo".to_owned())).unwrap_err();
    assert_eq!(missing.to_string(), "device GPU failed: none is called \"Voodoo\"");
}
