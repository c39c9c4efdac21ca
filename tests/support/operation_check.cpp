#include "tests/support/operation_check.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "tests/support/operation_tensors.hpp"
#include "tests/support/random_data.hpp"
#include "tests/support/reference.hpp"

namespace cakejit::test {
namespace {

constexpr double kUnit = 0x1p-24;        // half an ulp of fp32 at 1
constexpr double kElementUnits = 24;     // for y and dx: 5 terms, each rounded, and the activation's few ulp
constexpr double kSumElementUnits = 96;  // for dweight and dbias: chains of additions too
constexpr double kTensorNormUnits = 4;   // operation_check.hpp
constexpr double kSumNormError = 1e-6;
constexpr std::size_t kManyElements = 1024;

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double rounding_norm(cake_dtype dtype, std::size_t elements) {
  const bool many = elements >= kManyElements;
  if (dtype == CAKE_DTYPE_BF16) return many ? 2.5e-3 : 0x1p-8;
  if (dtype == CAKE_DTYPE_FP16) return many ? 4e-4 : 0x1p-11;
  return kUnit;
}

// Test data: each value is a number of its tensor's type, so that the reference starts from the same ones.
ReferenceInput make_input(const OperationCase& operation_case) {
  Random random(operation_case.seed);
  const auto values = [&](cake_dtype dtype, std::int64_t count, double scale) {
    std::vector<double> result = random.normals(count, scale);
    for (double& value : result) value = round_to(dtype, value);
    return result;
  };
  const std::int64_t elements = operation_case.tokens() * operation_case.channels;
  ReferenceInput input;
  input.offsets = operation_case.offsets;
  input.channels = operation_case.channels;
  input.activation = operation_case.activation;
  input.x = values(operation_case.dtype, elements, 1);
  input.weight = values(operation_case.weight_dtype, operation_case.channels * 4, 0.5);
  if (operation_case.bias_dtype != CAKE_DTYPE_NONE) {
    input.bias = values(operation_case.bias_dtype, operation_case.channels, 0.5);
  }
  input.dy = values(operation_case.dtype, elements, 1);
  return input;
}

class Check {
 public:
  Check(Executor& executor, const OperationCase& operation_case, cake_context* context);
  OperationReport run();

 private:
  [[nodiscard]] TensorLayout rows_of(const Slice& slice) const {
    return {case_.dtype, case_.tokens(), case_.channels, case_.row_stride(slice), slice.first_column};
  }
  [[nodiscard]] TensorLayout parameters(cake_dtype dtype, std::int64_t per_channel) const {
    if (case_.parameter_shift == 0) return TensorLayout::dense(dtype, case_.channels, per_channel);
    const std::int64_t elements = case_.channels * per_channel;
    return {dtype, 1, elements, case_.parameter_shift + elements, case_.parameter_shift};
  }
  [[nodiscard]] TensorLayout weights(cake_dtype dtype) const { return parameters(dtype, 4); }
  [[nodiscard]] TensorLayout biases(cake_dtype dtype) const {
    return has_bias() ? parameters(dtype, 1) : TensorLayout::dense(CAKE_DTYPE_FP32, 0, case_.channels);
  }
  [[nodiscard]] bool has_bias() const { return case_.bias_dtype != CAKE_DTYPE_NONE; }
  [[nodiscard]] const void* host_offsets() const;

  void run_forward();
  void run_backward();
  [[nodiscard]] GuardedTensor workspace(std::size_t bytes);
  void check_call(const char* call, cake_status status);
  void check_inputs(const char* pass);
  void check_outputs(const char* pass, const std::vector<std::pair<const char*, const GuardedTensor*>>& outputs);
  double compare(const char* name, const GuardedTensor& tensor, const ReferenceTensor& reference, double element_units,
                 double arithmetic_norm);
  void fail(const std::string& message) { report_.failures.push_back(message); }

  Executor& executor_;
  const OperationCase& case_;
  cake_context* context_;
  cake_causal_conv1d_det_train_problem problem_;
  ReferenceInput input_;
  GuardedTensor x_, weight_, bias_, dy_, cu_seqlens_;
  GuardedTensor y_, dx_, dweight_, dbias_;
  std::vector<std::byte> host_offsets_;
  OperationReport report_;
};

Check::Check(Executor& executor, const OperationCase& operation_case, cake_context* context)
    : executor_(executor),
      case_(operation_case),
      context_(context),
      problem_(operation_case.problem(executor.device())),
      input_(make_input(operation_case)),
      x_(executor, rows_of(case_.x)),
      weight_(executor, weights(case_.weight_dtype)),
      bias_(executor, biases(case_.bias_dtype)),
      dy_(executor, rows_of(case_.dy)),
      cu_seqlens_(executor, TensorLayout::dense(case_.cu_seqlens_dtype, 1, problem_.documents + 1)),
      y_(executor, rows_of(case_.y)),
      dx_(executor, rows_of(case_.dx)),
      dweight_(executor, weights(case_.weight_grad_dtype)),
      dbias_(executor, biases(case_.bias_grad_dtype)) {
  x_.write(input_.x);
  weight_.write(input_.weight);
  if (has_bias()) bias_.write(input_.bias);
  dy_.write(input_.dy);
  cu_seqlens_.write_integers(case_.offsets);
  host_offsets_ = cu_seqlens_.bytes();
}

// Half of the cases give the call a host copy, half do not.
const void* Check::host_offsets() const {
  return case_.seed % 2 == 0 ? host_offsets_.data() : nullptr;
}

GuardedTensor Check::workspace(std::size_t bytes) {
  // int32 elements: sizes are multiples of 4. 0xFF bytes: a kernel that counts on zeros gets NaN.
  if (bytes % 4 != 0) fail("a workspace of " + std::to_string(bytes) + " bytes is no multiple of 4");
  return {executor_, TensorLayout::dense(CAKE_DTYPE_INT32, 1, static_cast<std::int64_t>(bytes / 4))};
}

void Check::check_call(const char* call, cake_status status) {
  if (status == CAKE_STATUS_OK) return;
  fail(std::string(call) + ": " + cake_status_name(status) + ": " + cake_last_error());
}

void Check::check_inputs(const char* pass) {
  const std::pair<const char*, const GuardedTensor*> inputs[] = {
      {"x", &x_}, {"weight", &weight_}, {"bias", &bias_}, {"dy", &dy_}, {"cu_seqlens", &cu_seqlens_}};
  for (const auto& [name, tensor] : inputs) {
    const std::string damage = tensor->damage();
    if (!damage.empty()) fail(std::string(pass) + " changed its input " + name + ": " + damage);
  }
}

void Check::check_outputs(const char* pass, const std::vector<std::pair<const char*, const GuardedTensor*>>& outputs) {
  for (const auto& [name, tensor] : outputs) {
    const std::string damage = tensor->damage_outside();
    if (!damage.empty()) fail(std::string(pass) + " wrote outside " + name + ": " + damage);
  }
}

void Check::run_forward() {
  std::size_t bytes = 0;
  check_call("forward_workspace_bytes", cake_causal_conv1d_det_train_forward_workspace_bytes(&problem_, &bytes));
  const GuardedTensor scratch = workspace(bytes);
  cake_causal_conv1d_det_train_forward_args args = {};
  args.struct_size = sizeof args;
  args.x = x_.pointer();
  args.weight = weight_.pointer();
  args.bias = has_bias() ? bias_.pointer() : nullptr;
  args.cu_seqlens = cu_seqlens_.pointer();
  args.cu_seqlens_host = host_offsets();
  args.y = y_.pointer();
  args.workspace = scratch.pointer();
  args.workspace_bytes = bytes;
  std::vector<std::byte> first;
  for (const std::byte poison : {std::byte{0xff}, std::byte{0x7f}}) {
    y_.fill(poison);
    check_call("forward", cake_causal_conv1d_det_train_forward(context_, &problem_, &args, executor_.stream()));
    executor_.synchronize();
    check_inputs("forward");
    check_outputs("forward", {{"y", &y_}, {"its workspace", &scratch}});
    if (poison == std::byte{0xff}) first = y_.bytes();
  }
  if (y_.bytes() != first) fail("two forward runs gave different bits in y");
}

void Check::run_backward() {
  std::size_t bytes = 0;
  check_call("backward_workspace_bytes", cake_causal_conv1d_det_train_backward_workspace_bytes(&problem_, &bytes));
  const GuardedTensor scratch = workspace(bytes);
  cake_causal_conv1d_det_train_backward_args args = {};
  args.struct_size = sizeof args;
  args.x = x_.pointer();
  args.weight = weight_.pointer();
  args.bias = has_bias() ? bias_.pointer() : nullptr;
  args.dy = dy_.pointer();
  args.cu_seqlens = cu_seqlens_.pointer();
  args.cu_seqlens_host = host_offsets();
  args.dx = dx_.pointer();
  args.dweight = dweight_.pointer();
  args.dbias = has_bias() ? dbias_.pointer() : nullptr;
  args.workspace = scratch.pointer();
  args.workspace_bytes = bytes;
  const std::vector<std::pair<const char*, GuardedTensor*>> outputs = {
      {"dx", &dx_}, {"dweight", &dweight_}, {"dbias", &dbias_}};
  std::vector<std::vector<std::byte>> first;
  for (const std::byte poison : {std::byte{0xff}, std::byte{0x7f}}) {
    for (const auto& [name, tensor] : outputs) tensor->fill(poison);
    check_call("backward", cake_causal_conv1d_det_train_backward(context_, &problem_, &args, executor_.stream()));
    executor_.synchronize();
    check_inputs("backward");
    check_outputs("backward", {{"dx", &dx_}, {"dweight", &dweight_}, {"dbias", &dbias_}, {"its workspace", &scratch}});
    for (std::size_t index = 0; index < outputs.size(); ++index) {
      const auto& [name, tensor] = outputs[index];
      if (poison == std::byte{0xff}) {
        first.push_back(tensor->bytes());
      } else if (tensor->bytes() != first[index]) {
        fail(std::string("two backward runs gave different bits in ") + name);
      }
    }
  }
}

double Check::compare(const char* name, const GuardedTensor& tensor, const ReferenceTensor& reference,
                      double element_units, double arithmetic_norm) {
  const std::vector<double> found = tensor.values();
  const cake_dtype dtype = tensor.layout().dtype;
  std::vector<double> differences(found.size());
  bool reported = false;
  for (std::size_t index = 0; index < found.size(); ++index) {
    const double expected = reference.value[index];
    differences[index] = found[index] - expected;
    const double rounding = half_ulp(dtype, std::max(std::fabs(expected), std::fabs(found[index])));
    const double allowed = rounding + element_units * kUnit * reference.magnitude[index];
    if (reported || std::fabs(differences[index]) <= allowed) continue;  // NaN does not pass
    std::ostringstream message;
    const auto columns = static_cast<std::size_t>(tensor.layout().columns);
    message << std::setprecision(9) << name << '[' << index / columns << ", " << index % columns << "] is "
            << found[index] << " instead of " << expected << "; allowed are " << allowed << " off";
    fail(message.str());
    reported = true;
  }
  const double reference_norm = norm(reference.value);
  const double error = norm(differences);
  const double allowed = rounding_norm(dtype, found.size()) * reference_norm + arithmetic_norm;
  if (!(error <= allowed)) {
    std::ostringstream message;
    message << name << ": ||error|| = " << error << " over the allowed " << allowed
            << " at ||reference|| = " << reference_norm;
    fail(message.str());
  }
  return reference_norm == 0 ? 0 : error / reference_norm;
}

OperationReport Check::run() {
  const auto rows_norm = [](const ReferenceTensor& tensor) {
    return kTensorNormUnits * kUnit * norm(tensor.magnitude);
  };
  const auto sum_norm = [](const ReferenceSum& sum) {
    return kSumNormError * std::max(norm(sum.value), norm(sum.root_square));
  };
  run_forward();
  if (report_.ok()) {
    const ReferenceTensor y = reference_forward(input_);
    report_.errors.y = compare("y", y_, y, kElementUnits, rows_norm(y));
  }
  run_backward();
  if (report_.ok()) {
    const ReferenceBackward backward = reference_backward(input_);
    report_.errors.dx = compare("dx", dx_, backward.dx, kElementUnits, rows_norm(backward.dx));
    report_.errors.dweight =
        compare("dweight", dweight_, backward.dweight, kSumElementUnits, sum_norm(backward.dweight));
    if (has_bias()) {
      report_.errors.dbias = compare("dbias", dbias_, backward.dbias, kSumElementUnits, sum_norm(backward.dbias));
    }
  }
  std::ostringstream text;
  text << case_;
  for (const std::string& failure : report_.failures) text << "\n  " << failure;
  report_.text = text.str();
  return report_;
}

}  // namespace

OperationReport check_operation(Executor& executor, const OperationCase& operation_case, cake_context* context) {
  return Check(executor, operation_case, context).run();
}

}  // namespace cakejit::test
