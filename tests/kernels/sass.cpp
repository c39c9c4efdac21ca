#include "tests/kernels/sass.hpp"

#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace cakejit::runtime::testing {
namespace {

constexpr std::string_view kLabel = ".text.";

bool is(std::string_view opcode, std::string_view mnemonic) {
  return opcode.starts_with(mnemonic) && (opcode.size() == mnemonic.size() || opcode[mnemonic.size()] == '.');
}

int access_bytes(std::string_view opcode) {
  std::string_view rest = opcode;
  while (!rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    if (part == "U8" || part == "S8") return 1;
    if (part == "U16" || part == "S16") return 2;
    if (part == "64") return 8;
    if (part == "128") return 16;
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  return 4;
}

// A file of its own that goes with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes) {
    std::string name = (std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp") + std::string("/sassXXXXXX");
    const int file = mkstemp(name.data());
    if (file < 0) throw std::runtime_error("no temporary file " + name);
    path_ = name;
    const bool written = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    ::close(file);
    if (!written) throw std::runtime_error("can't write " + path_);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("can't run " + command);
  std::string text;
  std::array<char, 65536> part{};
  for (std::size_t got; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), got);
  if (pclose(pipe) != 0) throw std::runtime_error(command + " failed: " + text);
  return text;
}

}  // namespace

int Instructions::count(std::string_view mnemonic) const {
  int sum = 0;
  for (const auto& [opcode, number] : counts_) sum += is(opcode, mnemonic) ? number : 0;
  return sum;
}

int Instructions::count(std::string_view mnemonic, int bytes) const {
  int sum = 0;
  for (const auto& [opcode, number] : counts_) {
    sum += is(opcode, mnemonic) && access_bytes(opcode) == bytes ? number : 0;
  }
  return sum;
}

std::string Instructions::text() const {
  std::ostringstream out;
  for (const auto& [opcode, number] : counts_) out << opcode << " x" << number << ", ";
  return out.str();
}

std::map<std::string, Instructions> disassemble(const std::string& nvdisasm, const std::string& cubin) {
  const TemporaryFile file(cubin);
  return parse_sass(output_of("'" + nvdisasm + "' -c '" + file.path() + "' 2>&1"));
}

std::map<std::string, Instructions> parse_sass(const std::string& text) {
  std::map<std::string, Instructions> kernels;
  Instructions* current = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // A kernel begins at its label, ".text.<symbol>:"; an instruction is "  /*0390*/  @!PT LDS RZ, [RZ] ;".
    if (line.starts_with(kLabel)) {
      current = &kernels[line.substr(kLabel.size(), line.find(':') - kLabel.size())];
      continue;
    }
    std::istringstream words(line);
    std::string address;
    std::string opcode;
    std::string operand;
    words >> address >> opcode;
    if (current == nullptr || !address.starts_with("/*") || !address.ends_with("*/")) continue;
    if (opcode.starts_with('@')) words >> opcode;
    words >> operand;
    const bool filler = is(opcode, "LDS") && operand == "RZ,";
    if (!opcode.empty() && std::isupper(static_cast<unsigned char>(opcode[0])) != 0 && !filler) current->add(opcode);
  }
  return kernels;
}

}  // namespace cakejit::runtime::testing
