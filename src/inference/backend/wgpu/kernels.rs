//! The kernels of a tier: compiled when first needed, and bound to buffers once.
//!
//! A kernel writes commands into a [`Recording`] and does nothing else.

pub(super) mod plain;
pub(super) mod program;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

pub(super) use self::program::{Product, Program, RowEnd};
use super::device::{Block, Gpu};
use super::recording::Recording;
use super::tier::Tier;
use crate::inference::backend::BackendError;

/// Buffers of a kernel at most.
const BINDINGS_MAX: usize = 7;

/// Bytes of scalars that every desktop driver takes.
const IMMEDIATES_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct Kernels {
    gpu: Arc<Gpu>,
    tier: Tier,
    /// For so many buffers, of which the last is written.
    layouts: HashMap<usize, Layout>,
    pipelines: HashMap<Program, wgpu::ComputePipeline>,
    /// By the numbers of their buffers.
    groups: HashMap<[u64; BINDINGS_MAX], wgpu::BindGroup>,
    /// Stands in where a kernel has a binding that it does not read.
    nothing: Block,
}

#[derive(Debug)]
struct Layout {
    bindings: wgpu::BindGroupLayout,
    pipeline: wgpu::PipelineLayout,
}

impl Kernels {
    pub fn new(gpu: Arc<Gpu>, tier: Tier) -> Result<Self, BackendError> {
        let nothing = gpu.buffer("nothing", 16, wgpu::BufferUsages::STORAGE, false)?;
        let (layouts, pipelines, groups) = (HashMap::new(), HashMap::new(), HashMap::new());
        Ok(Self { gpu, tier, layouts, pipelines, groups, nothing })
    }

    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Forgets which buffers kernels were bound to; their buffers have gone.
    pub fn forget_groups(&mut self) {
        self.groups.clear();
    }

    /// Runs a program on `grid` workgroups. The last of `blocks` is written, and is none of the others;
    /// `None` stands for one that is not read.
    pub fn run(
        &mut self,
        recording: &mut Recording,
        program: Program,
        blocks: &[Option<&Block>],
        scalars: &[u32],
        grid: [u32; 3],
    ) -> Result<(), BackendError> {
        self.prepare(program, blocks.len())?;
        let mut key = [0; BINDINGS_MAX];
        for (place, block) in key.iter_mut().zip(blocks) {
            *place = block.unwrap_or(&self.nothing).id.get();
        }
        if !self.groups.contains_key(&key)
            && let Some(layout) = self.layouts.get(&blocks.len())
        {
            let blocks: Vec<_> = blocks.iter().map(|b| b.unwrap_or(&self.nothing)).collect();
            self.groups.insert(key, self.gpu.bind_group(&layout.bindings, &blocks));
        }
        let mut immediates = [0; IMMEDIATES_MAX];
        for (bytes, scalar) in immediates.as_chunks_mut::<4>().0.iter_mut().zip(scalars) {
            *bytes = scalar.to_ne_bytes();
        }
        if let (Some(pipeline), Some(group)) = (self.pipelines.get(&program), self.groups.get(&key))
        {
            recording.dispatch(pipeline, group, &immediates[..4 * scalars.len()], grid);
        }
        Ok(())
    }

    fn prepare(&mut self, program: Program, bindings: usize) -> Result<(), BackendError> {
        if self.pipelines.contains_key(&program) {
            return Ok(());
        }
        let gpu = &self.gpu;
        let layout = self.layouts.entry(bindings).or_insert_with(|| Layout::new(gpu, bindings));
        let source = program.source(self.tier);
        let pipeline = gpu.pipeline(program.label(), source, program.entry(), &layout.pipeline)?;
        self.pipelines.insert(program, pipeline);
        Ok(())
    }
}

impl Layout {
    fn new(gpu: &Gpu, bindings: usize) -> Self {
        let entries: Vec<_> = (0..bindings)
            .map(|at| wgpu::BindGroupLayoutEntry {
                binding: at as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: at + 1 < bindings },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
        let bindings = gpu.device().create_bind_group_layout(&descriptor);
        let pipeline = gpu.device().create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: IMMEDIATES_MAX as u32,
        });
        Self { bindings, pipeline }
    }
}
