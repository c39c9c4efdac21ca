#include "cache/miss.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cakejit/error.hpp"

namespace cakejit::cache {
namespace {

std::string join(const std::vector<std::string>& fields) {
  return fmt::format("{}", fmt::join(fields, "; "));
}

}  // namespace

std::vector<std::string> differences(const Manifest& manifest, const Request& request) {
  std::vector<std::string> found;
  const auto compare = [&](const std::string& field, const auto& has, const auto& wanted) {
    if (has != wanted) found.push_back(fmt::format("{} is {}, not {}", field, has, wanted));
  };
  compare("target", manifest.target, request.target);
  compare("kernel ABI", manifest.abi_version, request.abi_version);
  for (const auto& [field, wanted] : request.specialization) {
    const auto has = manifest.specialization.find(field);
    compare(field, has == manifest.specialization.end() ? std::string("not given") : has->second, wanted);
  }
  return found;
}

std::string explain_miss(const Store& store, const Request& request) {
  std::vector<Manifest> manifests;
  try {
    manifests = store.list();
  } catch (const Error& error) {
    return error.what();
  }
  if (manifests.empty()) return "has no entry";
  if (const auto same = std::ranges::find(manifests, request.name, &Manifest::name); same != manifests.end()) {
    const auto fields = differences(*same, request);
    return fmt::format("has it, but {}", fields.empty() ? "it can't be used: see above" : join(fields));
  }
  const auto nearest = std::ranges::min_element(
      manifests, {}, [&](const Manifest& manifest) { return differences(manifest, request).size(); });
  const auto fields = differences(*nearest, request);
  const std::string where = fmt::format("the nearest of {} entries is {}", manifests.size(), nearest->name);
  if (!fields.empty()) return fmt::format("{}: {}", where, join(fields));
  return where + ": the same specialisation, but other kernel source or options";
}

}  // namespace cakejit::cache
