//! Commands on their way into one submission.
//!
//! Kernels get this and nothing more: from here nobody can submit or wait. [`super::stream::Stream`]
//! consumes it, so that nothing is ever recorded into a buffer that the device has.

use super::device::Block;
use super::staging::{Download, Upload};
use super::submission::Submission;

/// A command buffer that is being written.
#[derive(Debug)]
pub(in crate::inference) struct Recording {
    pub(super) label: &'static str,
    pub(super) submission: Submission,
    pub(super) encoder: wgpu::CommandEncoder,
    pass: Option<wgpu::ComputePass<'static>>,
    pub(super) passes: u64,
    pub(super) dispatches: u64,
    pub(super) uploads: Vec<Upload>,
    pub(super) downloads: Vec<std::sync::Arc<Download>>,
    pub(super) stamps: Option<Stamps>,
}

/// When the pass of a submission began and ended, by the clock of the device.
#[derive(Debug)]
pub(super) struct Stamps {
    pub queries: wgpu::QuerySet,
    pub resolved: Block,
    pub download: Download,
}

/// Of a pair of timestamps.
pub(super) const STAMP_BYTES: u64 = 16;

impl Recording {
    pub(super) fn new(
        label: &'static str,
        submission: Submission,
        encoder: wgpu::CommandEncoder,
        stamps: Option<Stamps>,
    ) -> Self {
        Self {
            label,
            submission,
            encoder,
            pass: None,
            passes: 0,
            dispatches: 0,
            uploads: Vec::new(),
            downloads: Vec::new(),
            stamps,
        }
    }

    pub fn submission(&self) -> &Submission {
        &self.submission
    }

    /// Runs a kernel on `grid` workgroups.
    pub fn dispatch(
        &mut self,
        pipeline: &wgpu::ComputePipeline,
        group: &wgpu::BindGroup,
        immediates: &[u8],
        grid: [u32; 3],
    ) {
        let pass = match &mut self.pass {
            Some(pass) => pass,
            none => {
                // The first pass alone is stamped: a query is written once.
                let stamps = self.stamps.as_ref().filter(|_| self.passes == 0);
                self.passes += 1;
                let descriptor = wgpu::ComputePassDescriptor {
                    label: Some(self.label),
                    timestamp_writes: stamps.map(|stamps| wgpu::ComputePassTimestampWrites {
                        query_set: &stamps.queries,
                        beginning_of_pass_write_index: Some(0),
                        end_of_pass_write_index: Some(1),
                    }),
                };
                none.insert(self.encoder.begin_compute_pass(&descriptor).forget_lifetime())
            }
        };
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[]);
        pass.set_immediates(0, immediates);
        pass.dispatch_workgroups(grid[0], grid[1], grid[2]);
        self.dispatches += 1;
    }

    /// Copies between buffers; what was dispatched before has then run.
    pub(super) fn copy(&mut self, from: &wgpu::Buffer, to: &wgpu::Buffer, bytes: u64) {
        self.pass = None;
        self.encoder.copy_buffer_to_buffer(from, 0, to, 0, bytes.next_multiple_of(4));
    }

    pub(super) fn end_pass(&mut self) {
        self.pass = None;
        if let (Some(stamps), 1..) = (&self.stamps, self.passes) {
            let (resolved, queries) = (&stamps.resolved.buffer, &stamps.queries);
            self.encoder.resolve_query_set(queries, 0..2, resolved, 0);
            if let Some(to) = stamps.download.buffer() {
                self.encoder.copy_buffer_to_buffer(resolved, 0, to, 0, STAMP_BYTES);
            }
        }
    }
}
