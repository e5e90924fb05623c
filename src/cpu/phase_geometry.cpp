// SPDX-License-Identifier: MIT
#include "phase_geometry.hpp"

#include "parallel.hpp"
#include "workspace.hpp"

#include <algorithm>

namespace ct3d::cpu {

namespace {

constexpr int64_t box_target = 8 << 20; // bytes of boxes staged at once, so that they stay in the last-level cache
constexpr double item_target = 1e7;     // multiplications that pay for taking an item
constexpr int64_t first_level_target = 20 << 10;  // bytes of input
constexpr double second_level_target = 256 << 10; // bytes of input that an item reads again for each block of channels
constexpr int64_t least_channel_block = 8;
constexpr double most_elements = 0x1p50;     // of boxes and weights: far over any workspace, and no product overflows
constexpr double work_per_thread = 2e5;      // multiplications and elements
constexpr int64_t items_per_thread = 4;      // for balance
constexpr double stream_threshold = 8 << 20; // bytes of output that are written around the caches
constexpr uint64_t most_scratch = 512 << 10; // bytes of lists and sums per thread
constexpr int64_t most_panels = 384 << 10;   // bytes of input per thread

struct Span {
    int64_t low, extent;
};

// The input indices that the taps of all phases of an axis read.
Span inputs_read(const AxisTable &table) {
    const int64_t low = table.reach().low;
    int64_t high = low;
    for (const AxisPhase &p : table.phases)
        high = std::max(high, p.first_in + p.count - 1);
    return {low, high - low + 1};
}

// How many outputs of an axis the largest residue has.
int64_t lattice_extent(const PlanContext &c, size_t axis) { return (c.desc.out[axis] - 1) / c.desc.stride[axis] + 1; }

// Every residue has as many outputs as the box has inputs, and all phases read just these, one tap each.
bool plain(const AxisTable &table, Span span, int64_t lattice) {
    return lattice == span.extent && std::all_of(table.phases.begin(), table.phases.end(), [&](const AxisPhase &p) {
               return p.taps == 1 && p.first_in == span.low && p.count == span.extent;
           });
}

double box_elements(const PlanContext &c) {
    const auto rows = [&](size_t axis) {
        return static_cast<double>(std::max(inputs_read(c.phases.axis[axis]).extent, lattice_extent(c, axis)));
    };
    return static_cast<double>(c.desc.in_channels) * static_cast<double>(c.desc.in[0]) * rows(1) * rows(2);
}

void set_box(const PlanContext &c, PhaseGeometry &g) {
    const auto &axis = c.phases.axis;
    const Span z = inputs_read(axis[0]), y = inputs_read(axis[1]), x = inputs_read(axis[2]);
    g.low_y = y.low;
    g.height = y.extent;
    g.low_x = x.low;
    g.columns = lattice_extent(c, 2);
    g.width = std::max(x.extent, g.columns);
    g.plane = g.height * g.width;
    g.unpadded = y.low == 0 && x.low == 0 && g.height == c.desc.in[1] && g.width == c.desc.in[2];
    const int64_t channels = c.desc.in_channels_per_group(), size = static_cast<int64_t>(g.compute_size);
    g.folded = g.unpadded && z.low >= 0 && z.low + z.extent <= c.desc.in[0] &&
               plain(axis[0], z, lattice_extent(c, 0)) && plain(axis[1], y, lattice_extent(c, 1)) &&
               plain(axis[2], x, g.columns) && channels * (g.width + g.tile_lanes()) * size <= most_panels;
    // A tile's panel is read again for each block of channels: with their weights it should stay in the first-level
    // cache.
    if (g.folded)
        g.tile_vectors = std::clamp<int64_t>(first_level_target / (channels * g.lanes * size), 2, g.tile_vectors);
    // Dropped lanes may read past the last one. An odd number of cache lines spreads the channels over the sets of a
    // cache.
    const int64_t line = cache_line / size;
    const int64_t used = c.desc.in[0] * g.plane + g.width + g.lanes;
    g.channel_stride = ((used + line - 1) / line | 1) * line;
    g.box = channels * g.channel_stride;
}

void set_tile(const Desc &d, std::span<const TileShape> shapes, PhaseGeometry &g) {
    const int64_t channels = d.out_channels_per_group();
    // The smallest tile that takes all channels at once, or else the largest.
    TileShape best = shapes.front();
    for (const TileShape &shape : shapes)
        if (static_cast<int64_t>(shape.rows) >= channels)
            best = shape;
    g.tile_rows = static_cast<int64_t>(best.rows);
    g.tile_vectors = static_cast<int64_t>(best.vectors);
    g.blocks = (channels + g.tile_rows - 1) / g.tile_rows;
}

// Rows per item, at most `most`, with the fewest lanes computed over all items: a short run of rows may fill its last
// tile badly.
int64_t best_chunk_rows(const PhaseGeometry &g, int64_t most) {
    constexpr int64_t candidates = 64;
    int64_t best = 1, least_lanes = INT64_MAX;
    for (int64_t rows = most; rows >= 1 && rows > most - candidates; --rows) {
        const int64_t chunks = (g.rows + rows - 1) / rows, rest = g.rows - (chunks - 1) * rows;
        const int64_t lanes = (chunks - 1) * g.computed_lanes(rows) + g.computed_lanes(rest);
        if (lanes < least_lanes) {
            least_lanes = lanes;
            best = rows;
        }
    }
    return best;
}

void set_items(const PlanContext &c, PhaseGeometry &g) {
    const Desc &d = c.desc;
    g.plane_rows = lattice_extent(c, 1);
    g.slabs = g.folded ? 1 : d.out[0];
    g.rows = g.plane_rows * (g.folded ? lattice_extent(c, 0) : 1);
    const int64_t box_bytes = std::max<int64_t>(1, g.box * d.groups * static_cast<int64_t>(g.compute_size));
    g.samples = g.folded ? d.batch : std::clamp<int64_t>(box_target / box_bytes, 1, d.batch);

    const double items = static_cast<double>(g.samples) * static_cast<double>(d.groups * g.slabs);
    const double per_row = std::max(1.0, g.computed_multiplications / static_cast<double>(d.batch) /
                                             static_cast<double>(d.groups * g.slabs) / static_cast<double>(g.rows));
    const double wanted = std::max(1.0, items_per_thread * g.threads / items);
    const double row_bytes = static_cast<double>(d.in_channels_per_group() * g.width) *
                             static_cast<double>(c.phases.axis[0].most_taps()) * static_cast<double>(g.compute_size);
    const double most =
        std::min({static_cast<double>(g.rows) / wanted, item_target / per_row, second_level_target / row_bytes});
    const int64_t tile_rows = std::min((g.tile_lanes() + g.width - 1) / g.width, g.rows);
    g.chunk_rows = best_chunk_rows(g, std::max(static_cast<int64_t>(most), tile_rows));
    const double still_wanted = wanted / static_cast<double>(g.row_chunks());
    g.chunk_blocks =
        std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(g.blocks) / still_wanted), 1, g.blocks);
    const int64_t size = static_cast<int64_t>(element_size(d.dtype));
    g.stream_planes = static_cast<double>(size) * static_cast<double>(d.y_elements()) > stream_threshold;
    const int64_t run = d.layout == Layout::ndhwc ? d.out_channels_per_group() : d.out[2];
    g.stream_rows = g.stream_planes && run * size % cache_line == 0;
    g.prefetch = d.layout == Layout::ncdhw && !g.stream_rows;
    g.stream_planes = g.stream_planes && (d.layout == Layout::ncdhw || g.stream_rows);
    // Channels-last outputs are written some cache lines at a time, others a tile's channels at a time.
    g.emit_blocks = d.layout == Layout::ndhwc ? std::clamp<int64_t>(64 / g.tile_rows, 1, g.chunk_blocks) : 1;
}

// The rows of input that a tile reads of a channel, over all taps, should stay in the first-level cache.
void set_channel_block(const PlanContext &c, PhaseGeometry &g) {
    const int64_t size = static_cast<int64_t>(g.compute_size);
    const double row_bytes = static_cast<double>((g.tile_lanes() + c.phases.axis[2].most_taps()) * size + cache_line);
    const double bytes = static_cast<double>(c.phases.axis[0].most_taps()) *
                         static_cast<double>(c.phases.axis[1].most_taps()) * row_bytes;
    const auto fitting = static_cast<int64_t>(first_level_target / bytes);
    g.channel_block = g.folded ? c.desc.in_channels : std::max(fitting, least_channel_block);
}

void set_workspace(const PlanContext &c, PhaseGeometry &g) {
    const Desc &d = c.desc;
    const int64_t size = static_cast<int64_t>(g.compute_size);
    const int64_t volume = d.kernel[0] * d.kernel[1] * d.kernel[2];
    const auto bytes = [&](int64_t elements) { return aligned_size(static_cast<uint64_t>(elements * size)); };
    g.bias_bytes = bytes(d.out_channels);
    g.weights_bytes = bytes(d.groups * g.blocks * g.tile_rows * volume * d.in_channels_per_group());
    g.boxes_bytes = g.folded ? 0 : bytes(g.samples * d.groups * g.box);
    g.panels_bytes = g.folded ? bytes(d.in_channels_per_group() * g.computed_lanes(g.chunk_rows)) : 0;
    g.most_taps = c.phases.axis[0].most_taps() * c.phases.axis[1].most_taps() * d.kernel[2];
    g.taps_bytes = aligned_size(static_cast<uint64_t>(2 * g.most_taps) * sizeof(int64_t));
    g.sums_bytes = bytes(std::ssize(c.phases.axis[2].phases) * g.emit_blocks * g.tile_rows * g.tile_lanes());
}

// Multiplications as the tiles do them.
double computed(const PlanContext &c, const PhaseGeometry &g) {
    double taps = static_cast<double>(c.desc.batch) * static_cast<double>(c.desc.in_channels) *
                  static_cast<double>(g.blocks * g.tile_rows) * c.phases.axis[0].pairs;
    const auto sum = [](const AxisTable &table, int64_t count_of_all) {
        double total = 0;
        for (const AxisPhase &p : table.phases)
            total += static_cast<double>(p.taps) * static_cast<double>(count_of_all ? count_of_all : p.count);
        return total;
    };
    return taps * sum(c.phases.axis[1], 0) * sum(c.phases.axis[2], g.width);
}

template <class T> void set_compute_type(const TileSet<T> &tiles, const Desc &d, PhaseGeometry &g) {
    g.compute_size = sizeof(T);
    g.lanes = static_cast<int64_t>(tiles.lanes);
    set_tile(d, tiles.shapes, g);
}

} // namespace

int64_t PhaseGeometry::even_tile(int64_t run) const {
    const int64_t all = (run + lanes - 1) / lanes, tiles = (all + tile_vectors - 1) / tile_vectors;
    return (all + tiles - 1) / tiles * lanes;
}

int64_t PhaseGeometry::computed_lanes(int64_t rows_of_run) const {
    const int64_t run = (rows_of_run - 1) * width + columns, tile = even_tile(run);
    return (run + tile - 1) / tile * tile;
}

uint64_t PhaseGeometry::workspace() const {
    return bias_bytes + weights_bytes + boxes_bytes +
           static_cast<uint64_t>(threads) * (panels_bytes + taps_bytes + sums_bytes);
}

double phase_cost(const PlanContext &c, const PhaseGeometry &g) {
    constexpr double bytes_per_second = 1.2e10, packed_per_second = 5e8; // of a thread
    const Desc &d = c.desc;
    // Tiles of few rows are bound by the loads of their input.
    const double efficiency = g.tile_rows >= 8 ? 0.95 : g.tile_rows >= 4 ? 0.9 : g.tile_rows == 2 ? 0.5 : 0.25;
    const double rate = efficiency * best_isa().flops_per_thread * 4 / static_cast<double>(g.compute_size);
    // Channels-last outputs of small groups are written in pieces of cache lines.
    const double size = static_cast<double>(element_size(d.dtype));
    const double piece =
        d.layout == Layout::ndhwc ? size * static_cast<double>(d.out_channels_per_group()) : cache_line;
    const double bytes = 2 * size * total_elements(d) * std::max(1.0, cache_line / piece);
    return (2 * g.computed_multiplications / rate + bytes / bytes_per_second +
            static_cast<double>(d.w_elements()) / packed_per_second) /
           g.threads;
}

std::string make_phase_geometry(const PlanContext &c, PhaseGeometry &g) {
    const Desc &d = c.desc;
    if (d.op != Op::forward)
        return "only forward";
    if (c.phases.phases() == 0)
        return "no output has taps";
    if (d.stride[2] > most_residues)
        return "stride[2] is over 1024";
    if (d.dtype == Dtype::f64)
        set_compute_type(best_isa().phase_f64.tiles, d, g);
    else
        set_compute_type(best_isa().phase_f32.tiles, d, g);
    if (box_elements(c) > most_elements || 8 * static_cast<double>(d.w_elements()) > most_elements)
        return "its workspace would be over the limit";
    set_box(c, g);
    g.computed_multiplications = computed(c, g);
    g.threads = worthwhile_threads(c.threads, g.computed_multiplications + total_elements(d), work_per_thread);
    set_channel_block(c, g);
    set_items(c, g);
    g.computed_multiplications *=
        static_cast<double>(g.computed_lanes(g.chunk_rows)) / static_cast<double>(g.chunk_rows * g.width);
    set_workspace(c, g);
    if (g.taps_bytes > most_scratch || g.sums_bytes > most_scratch || g.taps_bytes + g.sums_bytes > most_scratch)
        return "too many taps or phases for its lists";
    if (g.workspace() > workspace_limit(c))
        return "its workspace would be over the limit";
    return {};
}

} // namespace ct3d::cpu
