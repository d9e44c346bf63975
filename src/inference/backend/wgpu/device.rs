//! An open GPU: choosing one, asking it for what its best tier needs, and noticing when it is gone.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::block_on;
use super::tier::{MatrixSize, Tier};
use crate::config::gpu_from_environment;
use crate::inference::backend::BackendError;

/// For people, where no adapter is known yet.
const NAME: &str = "GPU";

/// How long the device may be silent before it counts as hung. Drivers of GPUs give up long before; software on a
/// busy machine may need it.
const SILENCE_MAX: Duration = Duration::from_mins(1);

/// Percent of the memory that the driver says is free for us, beyond which buffers are refused.
const MEMORY_PERCENT_MAX: u8 = 90;

/// Which adapter to take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::inference) enum AdapterChoice {
    /// The best that is no software.
    #[default]
    Best,
    /// One whose name has this in it, in any case; software too.
    Named(String),
    /// A driver that computes on the processor.
    Software,
}

impl AdapterChoice {
    /// The one that the environment names, or else the best.
    pub fn from_environment() -> Self {
        match gpu_from_environment() {
            None => Self::Best,
            Some(name) if name.eq_ignore_ascii_case("software") => Self::Software,
            Some(name) => Self::Named(name),
        }
    }
}

/// A device with its queue. Everything on it is made here, so that what is made can be counted.
#[derive(Debug)]
pub(in crate::inference) struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    name: String,
    driver: String,
    backend: &'static str,
    /// Best first; the last is [`Tier::Base`].
    tiers: Vec<Tier>,
    timestamps: bool,
    /// Whether kernels guard themselves against what they must not do, and workgroup memory begins as zeros.
    checked: bool,
    limits: wgpu::Limits,
    lost: Arc<OnceLock<String>>,
    buffers: AtomicU64,
    bind_groups: AtomicU64,
    pipelines: AtomicU64,
    ids: AtomicU64,
}

/// A buffer, with a number that no other has.
#[derive(Debug)]
pub(in crate::inference) struct Block {
    pub id: NonZeroU64,
    pub buffer: wgpu::Buffer,
}

impl Gpu {
    /// # Errors
    /// When there is no such adapter, or its driver refuses.
    pub fn open(choice: &AdapterChoice) -> Result<Arc<Self>, BackendError> {
        Self::open_with(choice, cfg!(test))
    }

    /// As in the program: for tests that measure.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    #[cfg(test)]
    pub fn open_unchecked(choice: &AdapterChoice) -> Result<Arc<Self>, BackendError> {
        Self::open_with(choice, false)
    }

    fn open_with(choice: &AdapterChoice, checked: bool) -> Result<Arc<Self>, BackendError> {
        let failed = |message: String| BackendError::Device { device: NAME.to_owned(), message };
        let adapter = find(choice).ok_or_else(|| failed(missing(choice)))?;
        let info = adapter.get_info();
        let abilities = Abilities::of(&adapter, &info);
        let limits = wgpu::Limits { ..adapter.limits() };
        let experimental =
            if abilities.features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
                // SAFETY: what is experimental is how wgpu checks shapes; ours are those that the adapter lists.
                unsafe { wgpu::ExperimentalFeatures::enabled() }
            } else {
                wgpu::ExperimentalFeatures::disabled()
            };
        let request = wgpu::DeviceDescriptor {
            label: Some("lodestone"),
            required_features: abilities.features,
            required_limits: limits.clone(),
            experimental_features: experimental,
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = block_on(adapter.request_device(&request))
            .map_err(|error| failed(format!("{} does not open: {error}", info.name)))?;
        let lost = Arc::new(OnceLock::new());
        let (on_loss, on_error) = (Arc::clone(&lost), Arc::clone(&lost));
        device.set_device_lost_callback(move |_reason, message| {
            let _ = on_loss.set(message);
        });
        // What no scope has caught is no error of one request: nothing computed from here on is to be
        // trusted.
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let _ = on_error.set(error.to_string());
        }));
        Ok(Arc::new(Self {
            device,
            queue,
            backend: info.backend.to_str(),
            driver: format!("{} {}", info.driver, info.driver_info),
            name: info.name,
            tiers: abilities.tiers,
            timestamps: abilities.features.contains(wgpu::Features::TIMESTAMP_QUERY),
            checked,
            limits,
            lost,
            buffers: AtomicU64::new(0),
            bind_groups: AtomicU64::new(0),
            pipelines: AtomicU64::new(0),
            ids: AtomicU64::new(1),
        }))
    }

    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, and what computes on it: another driver may compute something else.
    pub fn identity(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!("{}, {} ({}), lodestone {version}", self.name, self.driver, self.backend)
    }

    /// Through which interface: "vulkan", "metal", "dx12".
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    pub fn tiers(&self) -> &[Tier] {
        &self.tiers
    }

    pub fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    pub fn limits(&self) -> &wgpu::Limits {
        &self.limits
    }

    /// Buffers, bind groups and pipelines that were made.
    pub fn made(&self) -> [u64; 3] {
        [&self.buffers, &self.bind_groups, &self.pipelines].map(|c| c.load(Ordering::Relaxed))
    }

    /// Makes a buffer; `mapped` ones are the host's until they are unmapped.
    ///
    /// # Errors
    /// When there is no room.
    pub fn buffer(
        &self,
        label: &'static str,
        bytes: u64,
        usage: wgpu::BufferUsages,
        mapped: bool,
    ) -> Result<Block, BackendError> {
        self.check()?;
        // Vectors of four numbers are read whole, and no binding is empty.
        let size = bytes.max(16).next_multiple_of(16);
        let bound = usage.contains(wgpu::BufferUsages::STORAGE);
        if size > self.limits.max_buffer_size
            || bound && size > self.limits.max_storage_buffer_binding_size
        {
            let message = format!("a buffer of {} MB is more than it takes", size >> 20);
            return Err(BackendError::OutOfMemory { device: self.name.clone(), message });
        }
        let scopes = [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation]
            .map(|filter| self.device.push_error_scope(filter));
        let descriptor =
            wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: mapped };
        let buffer = self.device.create_buffer(&descriptor);
        if let Some(error) = caught(scopes) {
            return Err(self.error(&error));
        }
        self.buffers.fetch_add(1, Ordering::Relaxed);
        Ok(Block { id: self.next_id(), buffer })
    }

    /// A buffer that kernels read, with `bytes` in it.
    ///
    /// # Errors
    /// When there is no room.
    pub fn filled(&self, label: &'static str, bytes: &[u8]) -> Result<Block, BackendError> {
        let block = self.buffer(label, bytes.len() as u64, wgpu::BufferUsages::STORAGE, true)?;
        let mapped = block.buffer.slice(..).get_mapped_range_mut();
        let mut mapped = mapped.map_err(|error| self.failed(error))?;
        mapped.slice(..bytes.len()).copy_from_slice(bytes);
        drop(mapped);
        block.buffer.unmap();
        Ok(block)
    }

    fn next_id(&self) -> NonZeroU64 {
        NonZeroU64::new(self.ids.fetch_add(1, Ordering::Relaxed)).unwrap_or(NonZeroU64::MIN)
    }

    /// Compiles `source`, whose only entry point is `entry`.
    ///
    /// # Errors
    /// When the module is not valid or the driver refuses it.
    pub fn pipeline(
        &self,
        label: &str,
        source: String,
        entry: &str,
        layout: &wgpu::PipelineLayout,
    ) -> Result<wgpu::ComputePipeline, BackendError> {
        self.check()?;
        let scopes = [
            wgpu::ErrorFilter::Internal,
            wgpu::ErrorFilter::OutOfMemory,
            wgpu::ErrorFilter::Validation,
        ]
        .map(|filter| self.device.push_error_scope(filter));
        let checks = if self.checked {
            wgpu::ShaderRuntimeChecks::checked()
        } else {
            wgpu::ShaderRuntimeChecks::unchecked()
        };
        let descriptor = wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        };
        // SAFETY: the kernels are part of this program; each guards its own bounds, and has run with
        // the checks in the tests.
        let module = unsafe { self.device.create_shader_module_trusted(descriptor, checks) };
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(label),
            layout: Some(layout),
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[],
                zero_initialize_workgroup_memory: self.checked,
            },
            cache: None,
        });
        if let Some(error) = caught(scopes) {
            return Err(self.failed(format_args!("kernel {label}: {error}")));
        }
        self.pipelines.fetch_add(1, Ordering::Relaxed);
        Ok(pipeline)
    }

    pub fn bind_group(&self, layout: &wgpu::BindGroupLayout, blocks: &[&Block]) -> wgpu::BindGroup {
        let entries: Vec<_> = blocks
            .iter()
            .enumerate()
            .map(|(at, block)| wgpu::BindGroupEntry {
                binding: at as u32,
                resource: block.buffer.as_entire_binding(),
            })
            .collect();
        self.bind_groups.fetch_add(1, Ordering::Relaxed);
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout,
            entries: &entries,
        })
    }

    /// Runs what has become due; with an index, sleeps until that submission is finished.
    ///
    /// # Errors
    /// When the device is gone, or silent for too long.
    pub fn poll(&self, until: Option<wgpu::SubmissionIndex>) -> Result<(), BackendError> {
        let poll = match until {
            None => wgpu::PollType::Poll,
            Some(index) => {
                wgpu::PollType::Wait { submission_index: Some(index), timeout: Some(SILENCE_MAX) }
            }
        };
        if let Err(error) = self.device.poll(poll) {
            let _ = self
                .lost
                .set(format!("it has not answered for {} s ({error})", SILENCE_MAX.as_secs()));
        }
        self.check()
    }

    /// # Errors
    /// When the device is gone.
    pub fn check(&self) -> Result<(), BackendError> {
        match self.lost.get() {
            None => Ok(()),
            Some(message) => {
                Err(BackendError::Lost { device: self.name.clone(), message: one_line(message) })
            }
        }
    }

    /// Behaves from now on as if the driver had reset the device.
    #[cfg(test)]
    pub fn lose(&self) {
        self.device.destroy();
        let _ = self.device.poll(wgpu::PollType::Poll);
    }

    pub fn failed(&self, error: impl std::fmt::Display) -> BackendError {
        BackendError::Device { device: self.name.clone(), message: one_line(&error.to_string()) }
    }

    fn error(&self, error: &wgpu::Error) -> BackendError {
        let device = self.name.clone();
        match error {
            wgpu::Error::OutOfMemory { .. } => {
                BackendError::OutOfMemory { device, message: "a buffer was refused".to_owned() }
            }
            error => BackendError::Device { device, message: one_line(&error.to_string()) },
        }
    }
}

/// What scopes have caught, the innermost first; all of them are closed.
fn caught<const N: usize>(scopes: [wgpu::ErrorScopeGuard; N]) -> Option<wgpu::Error> {
    let errors: Vec<_> = scopes.into_iter().rev().map(|scope| block_on(scope.pop())).collect();
    errors.into_iter().flatten().next()
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What an adapter can do for us.
struct Abilities {
    features: wgpu::Features,
    tiers: Vec<Tier>,
}

impl Abilities {
    fn of(adapter: &wgpu::Adapter, info: &wgpu::AdapterInfo) -> Self {
        let has = adapter.features();
        let mut features = wgpu::Features::IMMEDIATES | (has & wgpu::Features::TIMESTAMP_QUERY);
        let mut tiers = vec![Tier::Base];
        let same = info.subgroup_min_size == info.subgroup_max_size;
        let subgroup =
            (has.contains(wgpu::Features::SUBGROUP) && same).then_some(info.subgroup_max_size);
        let half = wgpu::Features::SUBGROUP | wgpu::Features::SHADER_F16;
        if has.contains(half) {
            features |= half;
            tiers.insert(0, Tier::Subgroup);
        }
        // The kernel is laid out for subgroups of 32.
        if let (Some(size), Some(32)) = (cooperative(adapter), subgroup)
            && has.contains(half | wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX)
        {
            features |= wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX;
            tiers.insert(0, Tier::Cooperative(size));
        }
        Self { features, tiers }
    }
}

/// The size of matrices that the adapter lists for f16 with sums in f32. One that it does not list gives wrong
/// numbers and no error.
fn cooperative(adapter: &wgpu::Adapter) -> Option<MatrixSize> {
    use wgpu::CooperativeScalarType::{F16, F32};
    let listed = adapter.cooperative_matrix_properties();
    [MatrixSize::Sixteen, MatrixSize::Eight].into_iter().find(|size| {
        let size = size.get();
        listed.iter().any(|shape| {
            (shape.m_size, shape.n_size, shape.k_size) == (size, size, size)
                && (shape.ab_type, shape.cr_type) == (F16, F32)
        })
    })
}

fn find(choice: &AdapterChoice) -> Option<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.memory_budget_thresholds.for_resource_creation = Some(MEMORY_PERCENT_MAX);
    // The driver's own checks are a matter for those who write it; wgpu's stay.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor);
    let adapters = block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let usable = adapters.into_iter().filter(|adapter| {
        let flags = adapter.get_downlevel_capabilities().flags;
        flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
            && adapter.features().contains(wgpu::Features::IMMEDIATES)
    });
    let software = |kind| kind == wgpu::DeviceType::Cpu;
    match choice {
        AdapterChoice::Best => usable
            .filter(|adapter| !software(adapter.get_info().device_type))
            .min_by_key(|adapter| rank(adapter.get_info().device_type)),
        AdapterChoice::Software => {
            let mut usable = usable;
            usable.find(|adapter| software(adapter.get_info().device_type))
        }
        AdapterChoice::Named(name) => {
            let name = name.to_lowercase();
            usable
                .filter(|adapter| adapter.get_info().name.to_lowercase().contains(&name))
                .min_by_key(|adapter| rank(adapter.get_info().device_type))
        }
    }
}

/// A card of its own before one that shares the processor's memory.
fn rank(kind: wgpu::DeviceType) -> u8 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

fn missing(choice: &AdapterChoice) -> String {
    match choice {
        AdapterChoice::Best => "no driver offers one; install the driver of its maker".to_owned(),
        AdapterChoice::Software => {
            "no software driver is installed (Mesa's is mesa-vulkan-drivers)".to_owned()
        }
        AdapterChoice::Named(name) => format!("none is called {name:?}"),
    }
}
