use std::collections::VecDeque;
use std::num::NonZeroUsize;

use super::*;
use crate::data::TokenBatch;
use crate::gpu::{DeviceInfo, ModelInfo, ModelKind};

/// A device that turns a sequence into a vector of its ids, or does something worse.
#[derive(Clone, Copy)]
enum Device {
    Right,
    Wrong,
    Broken,
    Full,
    Panics,
    /// Right, until it has computed so often.
    Lost(usize),
}

struct Fake {
    kind: DeviceKind,
    device: Device,
    /// A GPU takes three at once.
    begun: VecDeque<TokenBatch>,
}

impl Fake {
    fn new(kind: DeviceKind, device: Device) -> Self {
        Self { kind, device, begun: VecDeque::new() }
    }
}

impl ModelLoader for Fake {
    fn prepare(&self, _lane: Lane) -> Result<Box<dyn ModelUpload>, ModelError> {
        Ok(Box::new(Self::new(self.kind, self.device)))
    }
}

impl ModelUpload for Fake {
    fn step(&mut self) -> Result<Option<Model>, ModelError> {
        match self.device {
            Device::Broken => Err(ModelError::new("no driver")),
            Device::Full => Err(ModelError::out_of_memory("no room")),
            Device::Panics => panic!("no library"),
            Device::Right | Device::Wrong | Device::Lost(_) => {
                Ok(Some(Model::Encoder(Box::new(Self::new(self.kind, self.device)))))
            }
        }
    }
}

impl EncoderModel for Fake {
    fn info(&self) -> ModelInfo {
        ModelInfo {
            kind: ModelKind::Encoder,
            device: DeviceInfo { kind: self.kind, name: name(self.kind).to_owned() },
            dim: 2,
            tokens_max: 8,
            memory_bytes: 0,
            notices: Vec::new(),
        }
    }

    fn depth(&self) -> NonZeroUsize {
        NonZeroUsize::new(if self.kind == DeviceKind::Cpu { 1 } else { 3 }).unwrap()
    }

    fn begin(&mut self, batch: &TokenBatch) -> Result<(), ModelError> {
        self.begun.push_back(batch.clone());
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<Embedding>, ModelError> {
        let batch = self.begun.pop_front().unwrap();
        if let Device::Lost(left) = &mut self.device {
            *left =
                left.checked_sub(1).ok_or_else(|| ModelError::device_lost("it was unplugged"))?;
        }
        let turn = if matches!(self.device, Device::Wrong) { 0.3 } else { 0.0 };
        let vector = |ids: &[u32]| vec![ids.len() as f32, ids[0] as f32 + turn];
        let embed = |range: std::ops::Range<usize>| {
            Embedding::normalized(vector(&batch.ids()[range])).map_err(ModelError::new)
        };
        batch.ranges().map(embed).collect()
    }
}

const LANE: Lane = Lane { index: 0, lanes: 1 };

fn batch() -> TokenBatch {
    let mut batch = TokenBatch::default();
    batch.push(&[1, 2]);
    batch.push(&[3]);
    batch
}

fn fake(kind: DeviceKind, device: Device) -> Arc<dyn ModelLoader> {
    Arc::new(Fake::new(kind, device))
}

fn load(devices: &[(DeviceKind, Device)], oracle: Oracle) -> Result<ModelInfo, ModelError> {
    let candidate = |(kind, device): &(DeviceKind, Device)| Candidate {
        kind: *kind,
        loader: fake(*kind, *device),
    };
    let loader = DeviceLoader {
        candidates: devices.iter().map(candidate).collect(),
        self_test: Arc::new(SelfTest { batch: batch(), oracle }),
        notice: None,
    };
    let mut upload = loader.prepare(LANE)?;
    loop {
        if let Some(model) = upload.step()? {
            return Ok(model.info());
        }
    }
}

fn stored() -> Oracle {
    let mut right = Fake::new(DeviceKind::Cpu, Device::Right);
    Oracle::Stored(right.embed(&batch()).unwrap())
}

fn on_the_cpu() -> Oracle {
    Oracle::Cpu(fake(DeviceKind::Cpu, Device::Right))
}

#[test]
fn a9_the_best_device_that_passes_is_taken_without_a_word() {
    for oracle in [stored(), on_the_cpu()] {
        let devices = [(DeviceKind::Cuda, Device::Right), (DeviceKind::Cpu, Device::Right)];
        let info = load(&devices, oracle).unwrap();
        assert_eq!((info.device.kind, info.notices), (DeviceKind::Cuda, vec![]));
    }
}

#[test]
fn a9_a_device_that_computes_wrong_numbers_is_passed_over_with_the_reason() {
    for oracle in [stored(), on_the_cpu()] {
        let devices = [(DeviceKind::Cuda, Device::Wrong), (DeviceKind::Cpu, Device::Right)];
        let info = load(&devices, oracle).unwrap();
        assert_eq!(info.device.kind, DeviceKind::Cpu);
        assert_eq!(info.notices.len(), 1);
        let notice = &info.notices[0];
        assert!(notice.starts_with("CUDA is not used: it computes wrong numbers"), "{notice}");
    }
}

#[test]
fn a9_devices_that_do_not_open_are_passed_over_one_by_one() {
    let devices = [
        (DeviceKind::Metal, Device::Broken),
        (DeviceKind::Cuda, Device::Panics),
        (DeviceKind::Wgpu, Device::Full),
        (DeviceKind::Cpu, Device::Right),
    ];
    let info = load(&devices, stored()).unwrap();
    assert_eq!(info.device.kind, DeviceKind::Cpu);
    let notices = [
        "Metal is not used: no driver",
        "CUDA is not used: it crashed: no library",
        "wgpu is not used: no room",
    ];
    assert_eq!(info.notices, notices);
}

fn loaded(devices: &[(DeviceKind, Device)]) -> Box<dyn EncoderModel> {
    let candidate = |(kind, device): &(DeviceKind, Device)| Candidate {
        kind: *kind,
        loader: fake(*kind, *device),
    };
    let loader = DeviceLoader {
        candidates: devices.iter().map(candidate).collect(),
        self_test: Arc::new(SelfTest { batch: batch(), oracle: stored() }),
        notice: None,
    };
    let mut upload = loader.prepare(LANE).unwrap();
    loop {
        if let Some(Model::Encoder(encoder)) = upload.step().unwrap() {
            return encoder;
        }
    }
}

/// The self-test is the first that a device computes.
#[test]
fn a_device_that_is_gone_is_opened_again_and_then_given_up() {
    let devices = [(DeviceKind::Wgpu, Device::Lost(2)), (DeviceKind::Cpu, Device::Right)];
    let mut encoder = loaded(&devices);
    let right = encoder.embed(&batch()).unwrap();
    assert_eq!(encoder.embed(&batch()).unwrap(), right);
    assert_eq!((encoder.info().device.kind, encoder.info().notices.len()), (DeviceKind::Wgpu, 0));
    assert_eq!(encoder.embed(&batch()).unwrap(), right);
    let info = encoder.info();
    assert_eq!(info.device.kind, DeviceKind::Cpu);
    assert_eq!(info.notices, ["wgpu is no longer used: it was unplugged"]);
}

#[test]
fn what_had_begun_on_a_lost_device_is_answered_in_order() {
    // The self-test, and one of three.
    let devices = [(DeviceKind::Wgpu, Device::Lost(2)), (DeviceKind::Cpu, Device::Right)];
    let mut encoder = loaded(&devices);
    let batches = [1, 2, 3, 4, 5].map(|id| {
        let mut batch = TokenBatch::default();
        batch.push(&[id, id]);
        batch
    });
    let want = batches
        .each_ref()
        .map(|batch| Fake::new(DeviceKind::Cpu, Device::Right).embed(batch).unwrap());
    let (first, rest) = batches.split_at(3);
    for batch in first {
        encoder.begin(batch).unwrap();
    }
    let mut got = vec![encoder.finish().unwrap(), encoder.finish().unwrap()];
    // Opened again and lost again: the processor has what is left.
    for batch in rest {
        encoder.begin(batch).unwrap();
    }
    got.extend((0..3).map(|_| encoder.finish().unwrap()));
    assert_eq!(got, want);
    assert_eq!(encoder.info().device.kind, DeviceKind::Cpu);
    assert!(encoder.finish().is_err());
}

#[test]
fn where_no_device_is_left_the_loss_is_the_error() {
    let mut encoder = loaded(&[(DeviceKind::Wgpu, Device::Lost(1))]);
    // The one that was opened again is lost behind its self-test.
    assert!(encoder.embed(&batch()).unwrap_err().is_device_lost());
    let error = encoder.embed(&batch()).unwrap_err();
    assert_eq!(error.to_string(), "it was unplugged");
}

#[test]
fn the_error_of_the_last_device_is_the_error() {
    let devices = [(DeviceKind::Cuda, Device::Broken), (DeviceKind::Cpu, Device::Wrong)];
    let error = load(&devices, stored()).unwrap_err();
    assert!(error.to_string().starts_with("it computes wrong numbers"), "{error}");
    assert!(load(&[(DeviceKind::Cpu, Device::Full)], stored()).unwrap_err().is_out_of_memory());
}

#[test]
fn a9_the_order_is_metal_cuda_cpu_and_a_choice_is_heeded() {
    use DeviceKind::{Cpu, Cuda, Metal};
    let every = [Metal, Cuda, Cpu];
    assert_eq!(order(DeviceChoice::Auto, &every), (every.to_vec(), None));
    assert_eq!(order(DeviceChoice::Cuda, &every), (vec![Cuda, Cpu], None));
    let (kinds, notice) = order(DeviceChoice::Cpu, &every);
    assert_eq!((kinds, notice.as_deref()), (vec![Cpu], Some("CPU was chosen")));
    let (kinds, notice) = order(DeviceChoice::Metal, &[Cpu]);
    assert_eq!(kinds, [Cpu]);
    assert_eq!(notice.unwrap(), "Metal was chosen, but this program is built without it");
    assert_eq!(order(DeviceChoice::Cpu, &[Cpu]), (vec![Cpu], None));
}

#[test]
fn a9_wgpu_comes_before_cuda_and_the_cpu() {
    let kinds = for_encoders(DeviceChoice::Wgpu);
    assert!(kinds.is_sorted() && DeviceKind::Wgpu < DeviceKind::Cuda);
    assert_eq!(kinds.last(), Some(&DeviceKind::Cpu));
    assert_eq!(kinds.contains(&DeviceKind::Wgpu), cfg!(feature = "wgpu"));
    assert!(!for_encoders(DeviceChoice::Cpu).contains(&DeviceKind::Wgpu));
}
