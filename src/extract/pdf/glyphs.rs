//! What a PDF paints, as letters with their places. Pictures are not decoded, paths not kept.

use hayro_interpret::font::{Glyph as PdfGlyph, GlyphRun};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::hayro_syntax::object::{Dict, String as PdfString};
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Vec2};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps,
    InterpreterCache, InterpreterSettings, SoftMask, TransformExt as _, interpret_page,
};

use super::segment::{PageText, Segments};
use super::spelling;

/// Units of a glyph's own space in the size of its font.
const UNITS: f64 = 1_000.0;

/// Advance of a glyph whose font does not say it, in sizes of the font.
const ADVANCE: f32 = 0.5;

/// Text that is turned off a direction by more than about ten degrees is a watermark.
const SLANT_MAX: f64 = 0.2;

/// Glyphs of one page that are kept; a page that a person reads has some thousands.
const GLYPHS_MAX: usize = 500_000;

/// A glyph where it is painted: the left end of its baseline, in points, `y` downwards, turned so that
/// the text runs to the right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub size: f32,
}

/// The text of every page, and how many glyphs have no letters that they stand for.
pub(super) fn collect(pdf: &Pdf) -> (Vec<PageText>, usize) {
    let cache = InterpreterCache::new();
    let mut nameless = 0;
    let mut pages = Vec::new();
    for page in pdf.pages().iter() {
        let mut painted = Painted::new(page);
        let (width, height) = page.render_dimensions();
        let bounds = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
        let transform = page.initial_transform(true).to_kurbo();
        let mut context =
            Context::new(transform, bounds, &cache, pdf.xref(), InterpreterSettings::default());
        interpret_page(page, &mut context, &mut painted);
        nameless += painted.nameless;
        let directions = painted.directions.map(Segments::finish);
        pages.push(PageText { directions, height });
    }
    (pages, nameless)
}

struct Painted {
    directions: [Segments; 4],
    width: f64,
    height: f64,
    nameless: usize,
    count: usize,
    /// For each marked part of the page that is open, what the document says it reads as.
    spoken: Vec<Option<Spoken>>,
}

/// A part of a page that reads as something else than its glyphs, such as a ligature or a word with a
/// letter that its font does not name.
struct Spoken {
    text: String,
    is_said: bool,
}

impl Painted {
    fn new(page: &Page<'_>) -> Self {
        let (width, height) = page.render_dimensions();
        Self {
            directions: Default::default(),
            width: f64::from(width),
            height: f64::from(height),
            nameless: 0,
            count: 0,
            spoken: Vec::new(),
        }
    }

    fn push(&mut self, transform: Affine, glyph: &PdfGlyph<'_>, mode: WritingMode) {
        let origin = transform * Point::ZERO;
        let inside =
            (0.0..=self.width).contains(&origin.x) && (0.0..=self.height).contains(&origin.y);
        if !inside || self.count == GLYPHS_MAX {
            return;
        }
        self.count += 1;
        let Some(text) = self.text(glyph) else {
            self.nameless += 1;
            return;
        };
        let along = transform * Point::new(UNITS, 0.0) - origin;
        let up = transform * Point::new(0.0, UNITS) - origin;
        let size = up.hypot() as f32;
        let advance = match glyph {
            PdfGlyph::Outline(glyph) => glyph.advance_width(),
            PdfGlyph::Type3(glyph) => glyph.advance_width(),
        };
        let advance = advance.map_or(ADVANCE, |advance| advance / UNITS as f32);
        let (direction, width) = match mode {
            WritingMode::Horizontal => (along, advance * along.hypot() as f32),
            WritingMode::Vertical => (-up, size),
        };
        let Some(turns) = quarter_turns(direction) else { return };
        let (x, y) = match turns {
            0 => (origin.x, origin.y),
            1 => (origin.y, self.width - origin.x),
            2 => (self.width - origin.x, self.height - origin.y),
            _ => (self.height - origin.y, origin.x),
        };
        let glyph = Glyph { x: x as f32, y: y as f32, width, size };
        let is_sound = [glyph.x, glyph.y, width, size].iter().all(|number| number.is_finite());
        if is_sound && size > 0.0 {
            self.directions[turns].push(&glyph, &text);
        }
    }
}

impl Painted {
    /// What a glyph stands for; of a part that reads as something else, its first glyph stands for all.
    fn text(&mut self, glyph: &PdfGlyph<'_>) -> Option<String> {
        if let Some(spoken) = self.spoken.iter_mut().flatten().next() {
            let is_said = std::mem::replace(&mut spoken.is_said, true);
            return Some(if is_said { String::new() } else { spoken.text.clone() });
        }
        Some(match glyph.as_unicode()? {
            BfString::Char(c) => c.to_string(),
            BfString::String(text) => text,
        })
    }
}

/// Quarter turns, clockwise, of text that runs in a direction; `None` in between.
fn quarter_turns(direction: Vec2) -> Option<usize> {
    let Vec2 { x, y } = direction;
    if y.abs() <= x.abs() * SLANT_MAX {
        Some(if x > 0.0 { 0 } else { 2 })
    } else if x.abs() <= y.abs() * SLANT_MAX {
        Some(if y > 0.0 { 1 } else { 3 })
    } else {
        None
    }
}

impl<'a> Device<'a> for Painted {
    /// Text that is filled and outlined comes twice, which [`Segments`] sees like any repetition.
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        for glyph in run.glyphs() {
            self.push(props.transform * glyph.transform(), glyph, run.writing_mode());
        }
    }

    fn begin_marked_content(&mut self, _: &[u8], properties: Option<&Dict<'_>>) {
        let actual = properties.and_then(|dict| dict.get::<PdfString<'_>>(b"ActualText"));
        let text = actual.map(|text| spelling::property(text.as_bytes()));
        self.spoken.push(text.map(|text| Spoken { text, is_said: false }));
    }

    fn end_marked_content(&mut self) {
        self.spoken.pop();
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
}
