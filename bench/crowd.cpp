/* The crowd's whole frame but for the ray casts: bipeds of 67 joints walk over hills. Layouts: crowd (the usual arrays of transforms),
 * crowd_compact (the touched joints alone), crowd_rows (rows of 16 characters); the same with _threads: tiles in a row for each thread,
 * nanoseconds are those of one core. crowd_idle: they stand; crowd_still: they stand and have a still_tolerance; crowd_slow: their
 * joints may turn by 5 radians a second (knees 7.5), crowd_fast: by a thousand, which none ever does. Poses lie on huge pages where the system has them: with ordinary ones (--small_pages) a pose a page
 * keeps the page walks busier than the solver. */
#include "bench.h"

#include <cmath>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include <pthread.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {

const uint32_t joint_count = 67, phases = 16;
const uint16_t pelvis = 1, left_hip = 55, right_hip = 60; /* hip, knee, ankle, ball, toe */
const int warm_frames = 4;
const float step_seconds = 1.0f / 60.0f, cycle_seconds = 1.1f, walking_speed = 1.1f;

/* Clock reads stand between prepare, cast and solve of every tile, so they must be cheap. */
struct ticks {
    static uint64_t now() {
#if defined(__x86_64__)
        return __rdtsc();
#else
        return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
    }
    static double nanoseconds() { /* of one tick */
#if defined(__x86_64__)
        static const double length = [] {
            const auto start = std::chrono::steady_clock::now();
            const uint64_t from = now();
            while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(20)) {}
            return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / double(now() - from);
        }();
        return length;
#else
        return 1.0;
#endif
    }
};

phx_quat about_x(float angle) { return {std::sin(angle / 2), 0, 0, std::cos(angle / 2)}; }
phx_quat about_y(float angle) { return {0, std::sin(angle / 2), 0, std::cos(angle / 2)}; }

struct rig {
    rig() {
        for (uint32_t j = 0; j < joint_count; ++j) parents[j] = uint16_t(j ? j - 1 : PHX_NO_JOINT);
        for (uint32_t j = 30; j < 55; j += 5) parents[j] = 8; /* arms and what hangs on them */
        parents[left_hip] = parents[right_hip] = pelvis, parents[65] = 10, parents[66] = 10;
        for (uint32_t phase = 0; phase < phases; ++phase) pose(clip + phase * joint_count, 6.2831853f * float(phase) / phases, false);
        pose(idle, 0, true);
    }
    static void pose(phx_transform *joints, float phase, bool stands) {
        for (uint32_t j = 0; j < joint_count; ++j) joints[j] = {{0, 0.05f, 0}, {0, 0, 0, 1}, {1, 1, 1}};
        joints[0].translation = {0, 0, 0}, joints[pelvis].translation = {0, 0.90f, 0};
        for (int leg = 0; leg < 2; ++leg) {
            const float t = phase + 3.14159265f * float(leg), thigh = stands ? 0.1f : 0.36f * std::sin(t);
            const float knee = stands ? 0.2f : 0.15f + 0.45f * std::max(std::cos(t), 0.0f);
            phx_transform *p = joints + (leg ? right_hip : left_hip);
            p[0].translation = {leg ? -0.1f : 0.1f, -0.02f, 0}, p[0].rotation = about_x(-thigh);
            p[1].translation = {0, -0.42f, 0}, p[1].rotation = about_x(knee);
            p[2].translation = {0, -0.40f, 0}, p[2].rotation = about_x(thigh - knee);
            p[3].translation = {0, -0.05f, 0.13f}, p[4].translation = {0, 0, 0.07f};
        }
    }
    phx_crowd_def definition(const phx_backend *backend, uint32_t capacity, uint32_t workspaces) const {
        phx_crowd_def def = phx_crowd_def_default();
        def.backend = backend, def.capacity = capacity, def.workspaces = workspaces;
        def.skeleton.joint_count = joint_count, def.skeleton.parents = parents;
        def.pelvis = pelvis, def.leg_count = 2;
        for (int leg = 0; leg < 2; ++leg) {
            const uint16_t hip = leg ? right_hip : left_hip;
            def.legs[leg].hip = hip, def.legs[leg].knee = uint16_t(hip + 1), def.legs[leg].ankle = uint16_t(hip + 2);
            def.legs[leg].ball = uint16_t(hip + 3);
            def.legs[leg].heel_offset = {0, -0.08f, 0}, def.legs[leg].ball_offset = {0, -0.03f, 0};
            def.legs[leg].knee_forward = {0, 0, 1};
        }
        return def;
    }
    uint16_t parents[joint_count];
    phx_transform clip[phases * joint_count], idle[joint_count];
};

/* hills of half a metre */
void cast(const phx_ray_blocks &rays) {
    for (uint32_t b = 0; b < rays.count; ++b) {
        phx_ray_block &ray = rays.blocks[b];
        for (int lane = 0; lane < PHX_BLOCK_LANES; ++lane) {
            const float x = ray.org_x[lane], z = ray.org_z[lane];
            const float height = 0.15f * std::sin(1.3f * x) * std::cos(1.1f * z) + 0.1f * std::sin(0.4f * z);
            const float along = ray.org_y[lane] - height;
            if (!(along >= 0 && along <= ray.tfar[lane])) continue;
            ray.tfar[lane] = along, ray.geomID[lane] = 0;
            ray.Ng_x[lane] = -0.195f * std::cos(1.3f * x) * std::cos(1.1f * z), ray.Ng_y[lane] = 1.0f;
            ray.Ng_z[lane] = 0.165f * std::sin(1.3f * x) * std::sin(1.1f * z) - 0.04f * std::cos(0.4f * z);
        }
    }
}

class walking_crowd {
  public:
    walking_crowd(const phx_backend *backend, uint32_t count, phx_pose_layout layout, uint32_t threads, bool stands, float still, float speed)
        : stands_(stands), count_(count), groups_((count + 15) / 16), layout_(layout), position_(count), rotation_(count) {
        phx_crowd_def def = rig_.definition(backend, count, threads);
        def.params.still_tolerance = still;
        def.params.hip_speed = def.params.ankle_speed = speed, def.params.knee_speed = 1.5f * speed;
        crowd_ = phx_crowd_create(&def, nullptr);
        if (!crowd_) std::abort();
        touched_ = phx_crowd_joints(crowd_, &touched_count_);
        frame_ = {};
        frame_.count = count, frame_.dt = step_seconds;
        const uint32_t joints = layout == PHX_POSE_COMPACT ? touched_count_ : joint_count;
        transforms_.reset(new page_array<phx_transform>(size_t(layout == PHX_POSE_ROWS ? groups_ * 16 : count) * joints, true));
        frame_.poses = phx_poses_of(transforms_->data(), joints);
        frame_.poses.layout = layout;
        if (layout == PHX_POSE_ROWS) frame_.poses.joint_stride = 640, frame_.poses.character_stride = size_t(640) * joints;
        frame_.root_position = PHX_VIEW_ARRAY(position_.data()), frame_.root_rotation = PHX_VIEW_ARRAY(rotation_.data());
        for (uint32_t c = 0; c < count; ++c) {
            const float heading = 2.399963f * float(c); /* the golden angle: all directions */
            position_[c] = {float(c % 1000), 0, float(c / 1000)};
            rotation_[c] = about_y(heading);
        }
        for (int k = 0; k < (stands ? 60 : warm_frames); ++k) { /* memory touched, states settled */
            animate();
            for (uint32_t tile = 0; tile < tiles(); ++tile) cast(phx_crowd_prepare(crowd_, &frame_, tile)), phx_crowd_solve(crowd_, &frame_, tile);
        }
    }
    ~walking_crowd() { phx_crowd_destroy(crowd_); }
    uint32_t tiles() const { return phx_crowd_frame_tiles(crowd_, &frame_); }
    uint32_t first_tile(uint32_t thread, uint32_t threads) const { return uint32_t(uint64_t(tiles()) * thread / threads); }
    double still() const { /* share that was not solved in the last frame */
        uint32_t found = 0;
        for (uint32_t c = 0; c < count_; ++c) {
            phx_foot_info info;
            phx_crowd_foot(crowd_, c, 0, &info);
            found += info.still;
        }
        return double(found) / count_;
    }
    size_t bytes() const { return transforms_->bytes() + phx_crowd_memory(crowd_); }

    /* What one character moves between memory and core: the cache lines of its pose that are read, and of those that are written, its state
     * both ways, its root. Workspaces stay in the cache. */
    double bytes_moved() const {
        const double state = 2.0 * (sizeof(phx_character_state) + 2 * sizeof(phx_leg_state)) / PHX_BLOCK_LANES + 28;
        const auto written = [](uint16_t joint) { return joint == pelvis || (joint >= left_hip && joint < left_hip + 3) || (joint >= right_hip && joint < right_hip + 3); };
        size_t lines = 0;
        if (layout_ == PHX_POSE_ROWS) { /* whole lines of 16 characters: seven of a joint, and of those that are written three or four */
            for (uint32_t k = 0; k < touched_count_; ++k) lines += 7 + (touched_[k] == pelvis ? 3 : written(touched_[k]) ? 4 : 0);
            return state + 64.0 * double(lines) / PHX_BLOCK_LANES;
        }
        const uint32_t sample = std::min(count_, 64u);
        std::set<std::pair<bool, size_t>> seen;
        for (uint32_t c = 0; c < sample; ++c)
            for (uint32_t k = 0; k < touched_count_; ++k) {
                const size_t at = c * frame_.poses.character_stride + (layout_ == PHX_POSE_COMPACT ? k : touched_[k]) * frame_.poses.joint_stride;
                for (size_t byte = at; byte < at + 28; ++byte) {
                    seen.insert({false, byte / 64});
                    if (written(touched_[k]) && (byte < at + 12) == (touched_[k] == pelvis)) seen.insert({true, byte / 64});
                }
            }
        return state + 64.0 * double(seen.size()) / sample;
    }

    /* Operations of one frame; false where the backend has no lanes. */
    static bool count(const phx_backend *backend, phx_pose_layout layout, bool stands, bench_operations *operations) {
        bench_operations *counted = nullptr;
        const phx_backend *counting = counting_crowds(backend, &counted);
        if (!counting) return false;
        walking_crowd sample(counting, counted_characters, layout, 1, stands, 0, 0);
        uint64_t unused[2] = {0, 0};
        std::memset(counted, 0, sizeof *counted);
        sample.animate(), sample.solve(0, 1, unused, unused + 1);
        *operations = *counted;
        return true;
    }
    enum { counted_characters = 320 };

    /* the engine's part of a frame: new animated poses, roots moved on; of the tiles of one of the threads */
    void animate() { advance(), animate(0, 1); }
    void advance() { time_ += step_seconds; }
    void animate(uint32_t thread, uint32_t threads) {
        for (uint32_t c = first_tile(thread, threads) * PHX_TILE_CHARACTERS; c < std::min(first_tile(thread + 1, threads) * PHX_TILE_CHARACTERS, count_); ++c) {
            const uint32_t phase = (c * 7 + uint32_t(time_ / cycle_seconds * float(phases))) % phases;
            const phx_transform *from = stands_ ? rig_.idle : rig_.clip + phase * joint_count;
            if (layout_ == PHX_POSE_AOS) {
                std::memcpy(transforms_->data() + size_t(c) * joint_count, from, joint_count * sizeof *from);
            } else if (layout_ == PHX_POSE_COMPACT) {
                for (uint32_t k = 0; k < touched_count_; ++k) (*transforms_)[size_t(c) * touched_count_ + k] = from[touched_[k]];
            } else {
                for (uint32_t k = 0; k < touched_count_; ++k) {
                    float *rows = reinterpret_cast<float *>(transforms_->data()) + (size_t(c / 16) * joint_count + touched_[k]) * 160 + c % 16;
                    float values[10];
                    std::memcpy(values, from + touched_[k], sizeof values);
                    for (int row = 0; row < 10; ++row) rows[row * 16] = values[row];
                }
            }
            const phx_quat q = rotation_[c]; /* forward is q (0, 0, 1) */
            const float speed = stands_ ? 0 : walking_speed;
            position_[c].x += speed * step_seconds * 2 * q.y * q.w, position_[c].z += speed * step_seconds * (1 - 2 * q.y * q.y);
            const float x = position_[c].x, z = position_[c].z;
            position_[c].y = 0.15f * std::sin(1.3f * x) * std::cos(1.1f * z) + 0.1f * std::sin(0.4f * z);
        }
    }
    /* the tiles of one of the threads; adds the ticks of the two calls */
    void solve(uint32_t thread, uint32_t threads, uint64_t *prepared, uint64_t *solved) {
        phx_crowd_frame frame = frame_;
        frame.worker = thread;
        uint64_t in_prepare = 0, in_solve = 0;
        for (uint32_t tile = first_tile(thread, threads); tile < first_tile(thread + 1, threads); ++tile) {
            const uint64_t start = ticks::now();
            const phx_ray_blocks rays = phx_crowd_prepare(crowd_, &frame, tile);
            in_prepare += ticks::now() - start;
            cast(rays);
            const uint64_t again = ticks::now();
            phx_crowd_solve(crowd_, &frame, tile);
            in_solve += ticks::now() - again;
        }
        *prepared += in_prepare, *solved += in_solve;
    }

  private:
    rig rig_;
    bool stands_;
    uint32_t count_, groups_;
    phx_pose_layout layout_;
    phx_crowd *crowd_;
    const uint16_t *touched_;
    uint32_t touched_count_;
    std::unique_ptr<page_array<phx_transform>> transforms_;
    std::vector<phx_vec3> position_;
    std::vector<phx_quat> rotation_;
    phx_crowd_frame frame_;
    float time_ = 0.0f;
};

/* Threads that take turns on the cores would find each character's state in another core's cache. */
void stay_on_core(uint32_t thread) {
    cpu_set_t allowed, one;
    if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return;
    uint32_t skip = thread % uint32_t(CPU_COUNT(&allowed));
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &allowed) && skip-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
}

/* ns_per_foot is what prepare and solve take, on one core; animation and casting stand between them and are not counted, so this
 * benchmark's own time column says nothing. */
void crowd(benchmark::State &state, const phx_backend *backend, uint32_t count, phx_pose_layout layout, uint32_t threads, bool stands = false, float still = 0,
           float speed = 0) {
    walking_crowd walkers(backend, count, layout, threads, stands, still, speed);
    uint64_t prepared = 0, solved = 0;
    for (auto _ : state) {
        if (threads == 1) {
            walkers.animate();
            walkers.solve(0, 1, &prepared, &solved);
            continue;
        }
        walkers.advance();
        std::vector<std::thread> workers;
        std::vector<uint64_t> times(threads * 16); /* one line a thread */
        for (uint32_t t = 0; t < threads; ++t)
            workers.emplace_back([&, t] {
                stay_on_core(t);
                walkers.animate(t, threads);
                walkers.solve(t, threads, &times[t * 16], &times[t * 16 + 1]);
            });
        for (std::thread &worker : workers) worker.join();
        for (uint32_t t = 0; t < threads; ++t) prepared += times[t * 16], solved += times[t * 16 + 1];
    }
    const double feet = double(state.iterations()) * count * 2, each = ticks::nanoseconds() / feet;
    state.counters["ns_per_foot"] = double(prepared + solved) * each;
    state.counters["chains_solved"] = feet + 2.0 * count * warm_frames;
    state.counters["ns_prepare"] = double(prepared) * each;
    state.counters["ns_solve"] = double(solved) * each;
    state.counters["million_feet_at_60_hz"] = threads * 1e3 / 60.0 / (double(prepared + solved) * each);
    state.counters["still"] = walkers.still();
    if (bench_machine && still == 0 && speed == 0) {
        bench_operations operations;
        const bool counted = walking_crowd::count(backend, layout, stands, &operations);
        if (counted)
            for (uint64_t *n : {&operations.mul, &operations.add, &operations.div, &operations.sqrt, &operations.other})
                *n = *n * count / walking_crowd::counted_characters;
        const double moved = walkers.bytes_moved();
        const bound limit = bound_of(counted ? &operations : nullptr, phx_backend_lanes(backend), count * 2.0, moved / 2, size_t(moved) * count);
        state.counters["bytes_per_foot"] = moved / 2;
        state.counters["bound_ns"] = limit.nanoseconds;
        state.counters["bound_share"] = limit.nanoseconds / (double(prepared + solved) * each);
        state.SetLabel("bound: " + limit.name);
    }
    state.counters["bytes_per_character"] = double(walkers.bytes()) / count;
}

} // namespace

void register_crowd() {
    const auto layouts = {std::make_pair("crowd", PHX_POSE_AOS), std::make_pair("crowd_compact", PHX_POSE_COMPACT),
                          std::make_pair("crowd_rows", PHX_POSE_ROWS)};
    for (const auto &[name, layout] : layouts)
        register_on_backends(name, {16, 1000, 10000, 100000, 500000},
                             [layout = layout](benchmark::State &state, const phx_backend *backend, size_t characters) {
                                 crowd(state, backend, uint32_t(characters), layout, 1);
                             });
    for (const auto &[name, tolerance] : {std::make_pair("crowd_idle", 0.0f), std::make_pair("crowd_still", 0.001f)})
        register_on_backends(name, {1000, 10000}, [tolerance = tolerance](benchmark::State &state, const phx_backend *backend, size_t characters) {
            crowd(state, backend, uint32_t(characters), PHX_POSE_AOS, 1, true, tolerance);
        });
    for (const auto &[name, speed] : {std::make_pair("crowd_slow", 5.0f), std::make_pair("crowd_fast", 1000.0f)})
        register_on_backends(name, {1000}, [speed = speed](benchmark::State &state, const phx_backend *backend, size_t characters) {
            crowd(state, backend, uint32_t(characters), PHX_POSE_AOS, 1, false, 0, speed);
        });
    const uint32_t threads = std::max(2u, std::thread::hardware_concurrency());
    for (const auto &[name, layout] : layouts)
        for (const int64_t characters : {10000, 500000})
            for (uint32_t i = 0; const phx_backend *backend = phx_backend_at(i); ++i) {
                if (layout != PHX_POSE_AOS && i > 0) break; /* the widest backend alone says it */
                const std::string full = std::string(name) + "_threads/" + phx_backend_name(backend) + "/" + std::to_string(characters) + "/" +
                                         std::to_string(threads);
                benchmark::RegisterBenchmark(full.c_str(), [=, layout = layout](benchmark::State &state) {
                    crowd(state, backend, uint32_t(characters), layout, threads);
                });
            }
}
