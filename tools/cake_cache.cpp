// cake-cache: what lies in a kernel cache, whether it is sound, and where the layers are.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "cakejit/cakejit.h"
#include "cakejit/error.hpp"
#include "runtime/base/config.hpp"
#include "runtime/base/log.hpp"
#include "tools/cli/run.hpp"
#include "tools/cli/table.hpp"

namespace {

using namespace cakejit;
using Json = nlohmann::ordered_json;

struct Arguments {
  std::string directory;  // "": all layers of the environment
  std::string name;
  bool json = false;
  bool source = false;
};

struct Layer {
  cache::Path path;
  bool writable = false;
};

std::vector<Layer> environment_layers() {
  const Config config = Config::from_environment();
  std::vector<Layer> layers;
  for (const auto& path : config.aot_path) layers.push_back({path, false});
  if (config.cache_dir) layers.push_back({*config.cache_dir, true});
  return layers;
}

cache::Store open_store(const cache::Path& root, cache::Access access) {
  return {root, access, make_logger(LogLevel::kWarn)};
}

// The stores a command works on. A folder that was named must be there; a layer of the environment may not be there
// yet.
std::vector<cache::Store> stores(const Arguments& arguments, cache::Access access) {
  std::vector<cache::Store> found;
  if (!arguments.directory.empty()) {
    if (!std::filesystem::is_directory(arguments.directory)) {
      throw Error(CAKE_STATUS_CACHE,
                  fmt::format("{} is no directory; give a cache's directory, or none for the layers of the "
                              "environment (cake-cache path)",
                              arguments.directory));
    }
    found.push_back(open_store(arguments.directory, access));
    return found;
  }
  for (const Layer& layer : environment_layers()) found.push_back(open_store(layer.path, access));
  return found;
}

std::string field(const cache::Manifest& manifest, const std::string& key) {
  const auto found = manifest.specialization.find(key);
  return found == manifest.specialization.end() ? "-" : found->second;
}

std::int64_t age_s(const cache::Manifest& manifest) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count() - manifest.created_unix_s;
}

Json to_ordered_json(const cache::Store& store, const cache::Manifest& manifest) {
  Json json = Json::parse(cache::to_json(manifest));
  json["path"] = store.entry_path(manifest.name).string();
  return json;
}

void report_damage(const std::vector<cache::Damage>& damaged) {
  for (const auto& [path, reason] : damaged) {
    fmt::print(stderr, "cake-cache: damaged: {}: {}\n", path.string(), reason);
  }
}

int list(const Arguments& arguments) {
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "TARGET", "CHANNELS", "PASS", "DTYPE", "BIAS", "TILE", "SIZE", "COMPILER", "AGE"}};
  std::vector<cache::Damage> damaged;
  std::uint64_t bytes = 0;
  for (const cache::Store& store : stores(arguments, cache::Access::kReadOnly)) {
    for (const cache::Manifest& m : store.list(&damaged)) {
      if (arguments.json) json.push_back(to_ordered_json(store, m));
      rows.push_back({m.name, m.target, field(m, "channels"), field(m, "pass"), field(m, "dtype"), field(m, "bias"),
                      field(m, "tile"), cli::human_bytes(m.code_bytes), m.compiler, cli::human_age(age_s(m))});
      bytes += m.code_bytes;
    }
  }
  if (arguments.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    const std::size_t count = rows.size() - 1;
    if (count > 0) fmt::print("{}", cli::table(rows));
    fmt::print("{} {}, {} of code\n", count, count == 1 ? "library" : "libraries", cli::human_bytes(bytes));
  }
  report_damage(damaged);
  return 0;
}

// Every place where a library of this name, or of this unique beginning of a name or digest, lies.
std::vector<std::pair<cache::Store, cache::Manifest>> find(const Arguments& arguments, cache::Access access) {
  std::vector<std::pair<cache::Store, cache::Manifest>> found;
  for (const cache::Store& store : stores(arguments, access)) {
    for (cache::Manifest& m : store.list()) {
      if (m.name.starts_with(arguments.name) || m.digest.starts_with(arguments.name)) {
        found.emplace_back(store, std::move(m));
      }
    }
  }
  if (found.empty()) {
    throw Error(CAKE_STATUS_CACHE,
                fmt::format("no library \"{}\" here; cake-cache ls shows what there is", arguments.name));
  }
  for (const auto& [store, manifest] : found) {
    if (manifest.name == found.front().second.name) continue;
    throw Error(CAKE_STATUS_CACHE,
                fmt::format("\"{}\" is the beginning of several names, such as {} and {}; give more of it",
                            arguments.name, found.front().second.name, manifest.name));
  }
  return found;
}

void print_manifest(const cache::Store& store, const cache::Manifest& m) {
  std::vector<std::vector<std::string>> rows = {{m.name, ""},
                                                {"  path", store.entry_path(m.name).string()},
                                                {"  target", m.target},
                                                {"  kernel ABI", std::to_string(m.abi_version)}};
  for (const auto& [key, value] : m.specialization) rows.push_back({"  " + key, value});
  const char* kind = m.code_kind == cache::CodeKind::kCubin ? "cubin" : "LTO-IR";
  rows.push_back({"  code", fmt::format("{}, {}, XXH3 {}", kind, cli::human_bytes(m.code_bytes), m.code_checksum)});
  rows.push_back({"  source", fmt::format("{}, XXH3 {}", cli::human_bytes(m.source_bytes), m.source_checksum)});
  rows.push_back(
      {"  compiler", fmt::format("{}, {:.0f} ms, {}", m.compiler, m.compile_ms, fmt::join(m.compile_options, " "))});
  rows.push_back({"  linker", fmt::format("{}, {:.0f} ms, {}", m.linker, m.link_ms, fmt::join(m.link_options, " "))});
  rows.push_back({"  age", cli::human_age(age_s(m))});
  fmt::print("{}", cli::table(rows));
  for (const cache::EntryFacts& e : m.entries) {
    fmt::print("  kernel {}\n    {} registers, {} B shared, {} B stack, spills {} B stored, {} B loaded\n", e.symbol,
               e.registers, e.shared_bytes, e.stack_bytes, e.spill_store_bytes, e.spill_load_bytes);
  }
}

int show(const Arguments& arguments) {
  const auto found = find(arguments, cache::Access::kReadOnly);
  if (arguments.source) {
    const auto& [store, manifest] = found.front();
    fmt::print("{}", store.read(manifest.name).value().source);
    return 0;
  }
  Json json = Json::array();
  for (const auto& [store, manifest] : found) {
    if (arguments.json) {
      json.push_back(to_ordered_json(store, manifest));
    } else {
      print_manifest(store, manifest);
    }
  }
  if (arguments.json) fmt::print("{}\n", json.dump(2));
  return 0;
}

int verify(const Arguments& arguments) {
  std::vector<cache::Damage> damaged;
  std::size_t sound = 0;
  for (const cache::Store& store : stores(arguments, cache::Access::kReadOnly))
    sound += store.list(&damaged, true).size();
  if (arguments.json) {
    Json json = {{"sound", sound}, {"damaged", Json::array()}};
    for (const auto& [path, reason] : damaged) json["damaged"].push_back({{"path", path.string()}, {"reason", reason}});
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{} sound, {} damaged\n", sound, damaged.size());
  }
  report_damage(damaged);
  return damaged.empty() ? 0 : 1;
}

int remove(const Arguments& arguments) {
  for (const auto& [store, manifest] : find(arguments, cache::Access::kReadWrite)) {
    store.remove(manifest.name);
    fmt::print("removed {}\n", store.entry_path(manifest.name).string());
  }
  return 0;
}

int path(const Arguments& arguments) {
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows = {{"LAYER", "STATE", "PATH"}};
  for (const Layer& layer : environment_layers()) {
    const bool exists = std::filesystem::is_directory(layer.path);
    const bool can_write = layer.writable && exists && ::access(layer.path.c_str(), W_OK) == 0;
    json.push_back({{"path", layer.path.string()},
                    {"kind", layer.writable ? "writable" : "read-only"},
                    {"exists", exists},
                    {"can_write", can_write}});
    rows.push_back({layer.writable ? "writable" : "read-only",
                    !exists                        ? "not there"
                    : layer.writable && !can_write ? "can't be written"
                                                   : "there",
                    layer.path.string()});
  }
  fmt::print("{}", arguments.json ? json.dump(2) + "\n" : cli::table(rows));
  if (json.empty())
    fmt::print(stderr, "cake-cache: no layer: CAKEJIT_AOT_PATH, CAKEJIT_CACHE_DIR and HOME are unset\n");
  return 0;
}

int body(int argc, char** argv) {
  CLI::App app{"Looks at kernel caches: what is in them, whether it is sound, where they are."};
  app.set_version_flag("--version", "cake-cache " CAKEJIT_VERSION_STRING);
  app.require_subcommand(1);
  app.footer(
      "DIR is a cache's directory; without it, the layers of CAKEJIT_AOT_PATH and CAKEJIT_CACHE_DIR are used.\n"
      "Examples:\n"
      "  cake-cache ls build/aot-cache        what an AOT cache holds\n"
      "  cake-cache show 4f2a --source        the CUDA source of the library whose digest begins with 4f2a\n"
      "  cake-cache verify /opt/kernels       reads and checks every byte; exit status 1 if one is damaged\n"
      "Exit status: 0 done, 1 the work failed, 2 wrong usage.");
  Arguments arguments;
  const auto command = [&](const char* name, const char* what) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->add_flag("--json", arguments.json, "For machines; docs/cache-format.md describes it");
    return sub;
  };
  CLI::App* ls = command("ls", "Lists the libraries");
  CLI::App* shown = command("show", "Shows one library: its manifest, its kernels");
  CLI::App* verified = command("verify", "Checks every byte of every library");
  CLI::App* removed = app.add_subcommand("rm", "Removes one library");
  CLI::App* paths = command("path", "Shows the cache layers of the environment");
  for (CLI::App* sub : {shown, removed}) {
    sub->add_option("NAME", arguments.name, "The name, or a unique beginning of the name or the digest")->required();
  }
  shown->add_flag("--source", arguments.source, "Print its CUDA source");
  for (CLI::App* sub : {ls, shown, verified, removed})
    sub->add_option("DIR", arguments.directory, "The cache's directory");
  cli::parse(app, argc, argv);

  if (ls->parsed()) return list(arguments);
  if (shown->parsed()) return show(arguments);
  if (verified->parsed()) return verify(arguments);
  if (removed->parsed()) return remove(arguments);
  (void)paths;
  return path(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  return cakejit::cli::run("cake-cache", argc, argv, body);
}
