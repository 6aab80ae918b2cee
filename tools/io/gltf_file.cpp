// The only C++ of the tools: tinygltf reads a file, this turns what a skeleton needs into checked plain C data (gltf_file.h).
// tinygltf trusts offsets, counts and indices, so nothing it returns is used before it has been checked here.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>
#include <unistd.h>

#define TINYGLTF_IMPLEMENTATION
#define TINYGLTF_NO_STB_IMAGE
#define TINYGLTF_NO_STB_IMAGE_WRITE
#define TINYGLTF_NO_EXTERNAL_IMAGE
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#include <tiny_gltf.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include "gltf_file.h"

namespace {

// What is wrong, without the file's name: the one catch below puts that in front.
struct malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <typename... Parts> [[noreturn]] void reject(const char *format, Parts... parts) {
    char text[400];
    std::snprintf(text, sizeof text, format, parts...);
    throw malformed(text);
}

// A hostile file can point many channels at one accessor; beyond this many floats it is refused rather than copied out.
constexpr size_t most_values = size_t(32) << 20;

bool file_exists(const std::string &name, void *) { return access(name.c_str(), R_OK) == 0; }
std::string same_path(const std::string &name, void *) { return name; }
bool read_whole_file(std::vector<unsigned char> *out, std::string *message, const std::string &name, void *) {
    uint8_t *data = nullptr;
    size_t size = 0;
    io_error error;
    if (!io_read_file(name.c_str(), &data, &size, &error)) {
        if (message) *message = error.text;
        return false;
    }
    out->assign(data, data + size);
    std::free(data);
    return true;
}
bool write_nothing(std::string *, const std::string &, const std::vector<unsigned char> &, void *) { return false; }

struct accessor_reader {
    const tinygltf::Model &model;
    size_t budget = most_values;

    // The bytes [offset, offset + needed) of a buffer view, or a rejection.
    const uint8_t *bytes(int view_index, size_t offset, size_t needed, int accessor_index) const {
        if (view_index < 0 || size_t(view_index) >= model.bufferViews.size())
            reject("accessor %d names buffer view %d, which is not there", accessor_index, view_index);
        const tinygltf::BufferView &view = model.bufferViews[size_t(view_index)];
        if (view.buffer < 0 || size_t(view.buffer) >= model.buffers.size())
            reject("buffer view %d names buffer %d, which is not there", view_index, view.buffer);
        const std::vector<unsigned char> &data = model.buffers[size_t(view.buffer)].data;
        if (view.byteOffset > data.size() || view.byteLength > data.size() - view.byteOffset)
            reject("buffer view %d runs past the end of its buffer", view_index);
        if (offset > view.byteLength || needed > view.byteLength - offset)
            reject("accessor %d runs past the end of its buffer view", accessor_index);
        return data.data() + view.byteOffset + offset;
    }

    static float component(const uint8_t *at, int type) {
        // integers are normalised, as glTF 2.0 (3.11, animations) reads them
        switch (type) {
        case TINYGLTF_COMPONENT_TYPE_BYTE:
            return std::fmax(float(int8_t(at[0])) / 127.0f, -1.0f);
        case TINYGLTF_COMPONENT_TYPE_UNSIGNED_BYTE:
            return float(at[0]) / 255.0f;
        case TINYGLTF_COMPONENT_TYPE_SHORT: {
            int16_t value;
            std::memcpy(&value, at, sizeof value);
            return std::fmax(float(value) / 32767.0f, -1.0f);
        }
        case TINYGLTF_COMPONENT_TYPE_UNSIGNED_SHORT: {
            uint16_t value;
            std::memcpy(&value, at, sizeof value);
            return float(value) / 65535.0f;
        }
        default: {
            float value;
            std::memcpy(&value, at, sizeof value);
            return value;
        }
        }
    }

    static size_t component_size(int type, int accessor_index) {
        switch (type) {
        case TINYGLTF_COMPONENT_TYPE_BYTE:
        case TINYGLTF_COMPONENT_TYPE_UNSIGNED_BYTE:
            return 1;
        case TINYGLTF_COMPONENT_TYPE_SHORT:
        case TINYGLTF_COMPONENT_TYPE_UNSIGNED_SHORT:
            return 2;
        case TINYGLTF_COMPONENT_TYPE_FLOAT:
            return 4;
        default:
            reject("accessor %d has component type %d, which an animation may not use", accessor_index, type);
        }
    }

    // All values of an accessor as floats, `width` to an element. Free with free().
    float *read(int index, int type, size_t width, size_t *count) {
        if (index < 0 || size_t(index) >= model.accessors.size()) reject("an animation names accessor %d, which is not there", index);
        const tinygltf::Accessor &accessor = model.accessors[size_t(index)];
        if (accessor.type != type) reject("accessor %d has the wrong type for an animation", index);
        size_t step = component_size(accessor.componentType, index), element = step * width;
        if (accessor.count == 0) reject("accessor %d is empty", index);
        if (accessor.count > budget / width) reject("the file holds more than %zu million animation values", most_values >> 20);
        budget -= accessor.count * width;
        // checked before it is allocated: the elements must lie in the file; without a view they are zeros
        const uint8_t *from = nullptr;
        size_t stride = element;
        if (accessor.bufferView >= 0) {
            if (size_t(accessor.bufferView) < model.bufferViews.size() && model.bufferViews[size_t(accessor.bufferView)].byteStride != 0)
                stride = model.bufferViews[size_t(accessor.bufferView)].byteStride;
            from = bytes(accessor.bufferView, accessor.byteOffset, (accessor.count - 1) * stride + element, index);
        }
        float *values = static_cast<float *>(io_allocate(accessor.count * width, sizeof(float)));
        try {
            for (size_t i = 0; from != nullptr && i < accessor.count; ++i) {
                for (size_t k = 0; k < width; ++k) values[i * width + k] = component(from + i * stride + k * step, accessor.componentType);
            }
            if (accessor.sparse.isSparse) overwrite_sparse(accessor, index, width, step, values);
            for (size_t i = 0; i < accessor.count * width; ++i) {
                if (!std::isfinite(values[i])) reject("accessor %d holds a value that is not finite", index);
            }
        } catch (...) {
            std::free(values);
            throw;
        }
        *count = accessor.count;
        return values;
    }

    void overwrite_sparse(const tinygltf::Accessor &accessor, int index, size_t width, size_t step, float *values) const {
        const auto &sparse = accessor.sparse;
        size_t index_size = sparse.indices.componentType == TINYGLTF_COMPONENT_TYPE_UNSIGNED_BYTE    ? 1
                            : sparse.indices.componentType == TINYGLTF_COMPONENT_TYPE_UNSIGNED_SHORT ? 2
                            : sparse.indices.componentType == TINYGLTF_COMPONENT_TYPE_UNSIGNED_INT   ? 4
                                                                                                     : 0;
        if (index_size == 0 || sparse.count < 0 || size_t(sparse.count) > accessor.count || sparse.indices.byteOffset < 0 ||
            sparse.values.byteOffset < 0)
            reject("accessor %d has a malformed sparse part", index);
        size_t entries = size_t(sparse.count);
        const uint8_t *where = bytes(sparse.indices.bufferView, size_t(sparse.indices.byteOffset), entries * index_size, index);
        const uint8_t *what = bytes(sparse.values.bufferView, size_t(sparse.values.byteOffset), entries * width * step, index);
        for (size_t i = 0; i < entries; ++i) {
            uint32_t element = 0;
            std::memcpy(&element, where + i * index_size, index_size); // little-endian hosts, as the rest of the tools
            if (element >= accessor.count) reject("accessor %d has a sparse index out of range", index);
            for (size_t k = 0; k < width; ++k)
                values[element * width + k] = component(what + (i * width + k) * step, accessor.componentType);
        }
    }
};

char *name_or_null(const std::string &name) { return name.empty() ? nullptr : io_copy_text(name.c_str()); }

void copy_vector(const std::vector<double> &from, size_t width, size_t node, const char *what, float *to) {
    if (from.empty()) return;
    if (from.size() != width) reject("node %zu has a %s of %zu numbers instead of %zu", node, what, from.size(), width);
    for (size_t k = 0; k < width; ++k) {
        to[k] = float(from[k]);
        if (!std::isfinite(to[k])) reject("node %zu has a %s that is not finite", node, what);
    }
}

void read_nodes(const tinygltf::Model &model, gltf_file *file) {
    file->nodes = static_cast<gltf_node *>(io_allocate(model.nodes.size(), sizeof(gltf_node)));
    file->node_count = model.nodes.size();
    for (size_t i = 0; i < file->node_count; ++i) file->nodes[i].parent = -1;
    for (size_t i = 0; i < file->node_count; ++i) {
        const tinygltf::Node &from = model.nodes[i];
        gltf_node &node = file->nodes[i];
        node.name = name_or_null(from.name);
        node.has_mesh = from.mesh >= 0;
        node.rest = io_transform{{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
        copy_vector(from.translation, 3, i, "translation", node.rest.translation);
        copy_vector(from.rotation, 4, i, "rotation", node.rest.rotation);
        copy_vector(from.scale, 3, i, "scale", node.rest.scale);
        node.has_matrix = !from.matrix.empty();
        if (node.has_matrix && from.matrix.size() != 16)
            reject("node %zu has a matrix of %zu numbers instead of 16", i, from.matrix.size());
        for (size_t k = 0; node.has_matrix && k < 16; ++k) {
            node.matrix[k] = from.matrix[k];
            if (!(std::fabs(node.matrix[k]) < 1e30)) reject("node %zu has a matrix that is not finite", i);
        }
        for (int child : from.children) file->nodes[child].parent = int32_t(i); // in range and a forest: gltf_parse has seen to it
    }
    for (const tinygltf::Skin &skin : model.skins) {
        for (int joint : skin.joints) file->nodes[joint].in_skin = true;
    }
}

void read_animations(const tinygltf::Model &model, gltf_file *file) {
    accessor_reader accessors{model};
    file->animations = static_cast<gltf_animation *>(io_allocate(model.animations.size(), sizeof(gltf_animation)));
    file->animation_count = model.animations.size();
    for (size_t a = 0; a < file->animation_count; ++a) {
        const tinygltf::Animation &from = model.animations[a];
        gltf_animation &animation = file->animations[a];
        animation.name = name_or_null(from.name);
        animation.tracks = static_cast<io_track *>(io_allocate(from.channels.size(), sizeof(io_track)));
        for (const tinygltf::AnimationChannel &channel : from.channels) {
            io_path path;
            if (channel.target_path == "translation") path = IO_TRANSLATION;
            else if (channel.target_path == "rotation") path = IO_ROTATION;
            else if (channel.target_path == "scale") path = IO_SCALE;
            else continue;                         // morph weights and extensions move no joint
            if (channel.target_node < 0) continue; // in range where it is there: gltf_parse has seen to it
            if (channel.sampler < 0 || size_t(channel.sampler) >= from.samplers.size())
                reject("animation %zu names sampler %d, which is not there", a, channel.sampler);
            const tinygltf::AnimationSampler &sampler = from.samplers[size_t(channel.sampler)];
            size_t width = path == IO_ROTATION ? 4 : 3, values = 0, times = 0;
            io_track &track = animation.tracks[animation.track_count++];
            track.joint = uint32_t(channel.target_node);
            track.path = path;
            if (sampler.interpolation.empty() || sampler.interpolation == "LINEAR") track.interpolation = IO_LINEAR;
            else if (sampler.interpolation == "STEP") track.interpolation = IO_STEP;
            else if (sampler.interpolation == "CUBICSPLINE") track.interpolation = IO_CUBICSPLINE;
            else reject("animation %zu has interpolation '%s'; LINEAR, STEP and CUBICSPLINE can be read", a, sampler.interpolation.c_str());
            track.times = accessors.read(sampler.input, TINYGLTF_TYPE_SCALAR, 1, &times);
            if (model.accessors[size_t(sampler.input)].componentType != TINYGLTF_COMPONENT_TYPE_FLOAT)
                reject("accessor %d holds key times that are no floats", sampler.input);
            track.values = accessors.read(sampler.output, path == IO_ROTATION ? TINYGLTF_TYPE_VEC4 : TINYGLTF_TYPE_VEC3, width, &values);
            if (values != times * (track.interpolation == IO_CUBICSPLINE ? 3 : 1))
                reject("animation %zu has %zu key times but %zu values", a, times, values);
            track.count = uint32_t(times);
            for (size_t k = 0; k < times; ++k) {
                if (track.times[k] < 0 || (k > 0 && track.times[k] < track.times[k - 1]))
                    reject("animation %zu has key times that fall or are negative", a);
            }
        }
    }
}

// A GLB around the text and the binary chunk, as only that form lets tinygltf have both from memory.
std::vector<unsigned char> wrap(const std::string &text, const uint8_t *binary, size_t binary_size) {
    std::vector<unsigned char> glb;
    auto word = [&glb](size_t value) {
        for (int k = 0; k < 4; ++k) glb.push_back(static_cast<unsigned char>(value >> (8 * k)));
    };
    size_t padded = (text.size() + 3) & ~size_t(3);
    glb.reserve(28 + padded + binary_size);
    word(0x46546C67);
    word(2);
    word(28 + padded + binary_size);
    word(padded);
    word(0x4E4F534A);
    glb.insert(glb.end(), text.begin(), text.end());
    glb.resize(20 + padded, ' ');
    word(binary_size);
    word(0x004E4942);
    glb.insert(glb.end(), binary, binary + binary_size);
    return glb;
}

} // namespace

extern "C" bool gltf_file_read(const char *path, const char *text, const uint8_t *binary, size_t binary_size, gltf_file *file,
                               io_error *error) {
    *file = gltf_file{};
    try {
        tinygltf::TinyGLTF loader;
        loader.SetFsCallbacks(tinygltf::FsCallbacks{file_exists, same_path, read_whole_file, write_nothing, nullptr});
        std::string folder = path, json = text;
        size_t slash = folder.rfind('/');
        folder = slash == std::string::npos ? "." : folder.substr(0, slash + 1);
        tinygltf::Model model;
        std::string problem, warning;
        bool loaded;
        if (binary != nullptr && binary_size > 0) {
            std::vector<unsigned char> glb = wrap(json, binary, binary_size);
            loaded = loader.LoadBinaryFromMemory(&model, &problem, &warning, glb.data(), unsigned(glb.size()), folder);
        } else {
            loaded = loader.LoadASCIIFromString(&model, &problem, &warning, json.data(), unsigned(json.size()), folder);
        }
        if (!loaded) {
            while (!problem.empty() && (problem.back() == '\n' || problem.back() == ' ')) problem.pop_back();
            throw malformed("is no glTF 2.0 that can be read: " +
                            (problem.empty() ? std::string("tinygltf gives no reason") : problem.substr(0, 300)));
        }
        read_nodes(model, file);
        read_animations(model, file);
        return true;
    } catch (const malformed &what) {
        io_fail(error, "%s: %s", path, what.what());
    } catch (const std::exception &what) {
        io_fail(error, "%s: is damaged: %.300s", path, what.what());
    }
    gltf_file_free(file);
    return false;
}

extern "C" void gltf_file_free(gltf_file *file) {
    for (size_t i = 0; i < file->node_count; ++i) std::free(file->nodes[i].name);
    std::free(file->nodes);
    for (size_t a = 0; a < file->animation_count; ++a) {
        for (size_t t = 0; t < file->animations[a].track_count; ++t) {
            std::free(file->animations[a].tracks[t].times);
            std::free(file->animations[a].tracks[t].values);
        }
        std::free(file->animations[a].tracks);
        std::free(file->animations[a].name);
    }
    std::free(file->animations);
    *file = gltf_file{};
}
