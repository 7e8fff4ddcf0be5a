//! Statistics of repeated runs: quantiles, boxplots, order-statistic intervals, and what a study's
//! records say per trial. Pure: the same records give the same results anywhere.

#![forbid(unsafe_code)]

mod noise;
mod order;
mod percentile;
mod summary;

pub use noise::{Noise, noise};
pub use order::{BoxPlot, box_plot, median, median_interval, quantile, ratio_of_medians};
pub use percentile::{Percentiles, percentiles};
pub use summary::{CpuUse, Label, Loss, Metric, Summary, Value, summarise};
