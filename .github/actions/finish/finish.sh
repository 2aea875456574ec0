#!/usr/bin/env bash
# Stops the server that start.sh started, and collects its log and a JUnit file. Succeeds also if start.sh failed or
# tests wrote no file: a step with `if: always()` must not hide their failure.
set -euo pipefail
folder=$RUNNER_TEMP/voucherctl
report=$RUNNER_TEMP/voucherctl-report
mkdir -p "$report"
echo "path=$report" >>"$GITHUB_OUTPUT"

if [ -x "$folder/bin/voucherctl" ]; then
  "$folder/bin/voucherctl" server stop --data "$folder/data" || echo '::warning::The voucher server did not stop.'
fi
for file in "$folder/data/server.log" "$INPUT_JUNIT"; do
  if [ -f "$file" ]; then cp "$file" "$report/"; fi
done
{
  echo '### Voucher server'
  if [ -f "$report/server.log" ]; then
    echo "$(grep -c '"level":[56]0' "$report/server.log" || true) errors in $(wc -l <"$report/server.log") lines of server.log"
  else
    echo 'It was not started.'
  fi
} >>"$GITHUB_STEP_SUMMARY"
