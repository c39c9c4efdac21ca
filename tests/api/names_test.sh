#!/usr/bin/env bash
# The public names: all that are promised, none of the older ones without det, and no other exported symbol.
# usage: names_test.sh HEADERS LIBRARY NM
set -euo pipefail
headers=$1 library=$2 nm=$3

promised=(
  cake_causal_conv1d_det_train_forward
  cake_causal_conv1d_det_train_backward
  cake_causal_conv1d_det_train_forward_workspace_bytes
  cake_causal_conv1d_det_train_backward_workspace_bytes
  is_cake_causal_conv1d_det_train_supported
  cake_causal_conv1d_det_train_prepare
  cake_version
  cake_last_error
  cake_status_name
  cake_context_create
  cake_context_destroy
  cake_context_get_statistics
)
older=(
  cake_causal_conv1d
  cake_causal_conv1d_kcp
  cake_causal_conv1d_kcp_multi
  KcpRecomputeHandle
  CakeCausalConv1dFunction
)

faults=0
fault() {
  printf 'FAULT: %s\n' "$*"
  faults=$((faults + 1))
}

exported=$("$nm" -D --defined-only "$library" | awk '{print $NF}' | sed 's/@.*//')
[ -n "$exported" ] || fault "$library exports nothing"

for name in "${promised[@]}"; do
  grep -qx "$name" <<<"$exported" || fault "$library doesn't export $name"
  grep -rqw "$name" "$headers" || fault "no header in $headers declares $name"
done
for name in "${older[@]}"; do
  if grep -rnw "$name" "$headers"; then fault "the older name $name stands in a public header"; fi
  if grep -w "$name" <<<"$exported"; then fault "$library exports the older name $name"; fi
done
# Sanitizers and old linkers add names that start with an underscore and belong to the implementation.
strangers=$(grep -vE '^(is_)?cake_|^_(_|init$|fini$|edata$|end$)' <<<"$exported" || true)
[ -z "$strangers" ] || fault "$library exports more than cake_* and is_cake_*: $(head -n 5 <<<"$strangers" | tr '\n' ' ')"

printf '%d names promised, %d older ones, %d exported, %d faults\n' "${#promised[@]}" "${#older[@]}" \
  "$(wc -l <<<"$exported")" "$faults"
[ "$faults" -eq 0 ]
