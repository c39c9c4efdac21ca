#!/usr/bin/env bash
# Every variable that the library reads is described in docs/configuration.md, and every one described in its table of settings
# is read. usage: settings_test.sh SOURCE_DIR
set -euo pipefail
cd "$1"
read_by_library=$(grep -o '"CAKEJIT_[A-Z_]*"' runtime/base/config.cpp | tr -d '"' | sort -u)
# shellcheck disable=SC2016  # the backquotes are Markdown's
described=$(sed -n '/^## Settings/,/^\*\*/p' docs/configuration.md | grep -o '^| `CAKEJIT_[A-Z_]*`' | tr -d '|` ' | sort -u)
[ -n "$read_by_library" ]
diff <(echo "$read_by_library") <(echo "$described") || {
  echo "FAULT: < is read by runtime/base/config.cpp only, > stands in docs/configuration.md only"
  exit 1
}
echo "$(wc -l <<<"$described") settings, all described"
