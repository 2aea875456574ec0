#!/usr/bin/env bash
# Installs voucherctl, starts its server from a seed, and passes base URL and tokens to later steps. Runs on runners with
# Linux and macOS that have Node 20.19 or later.
set -euo pipefail
folder=$RUNNER_TEMP/voucherctl
case $INPUT_VERSION in
  *.tgz) package=$INPUT_VERSION ;;
  *) package=voucherctl@$INPUT_VERSION ;;
esac

mkdir -p "$folder"
npm install --global --prefix "$folder" --no-audit --no-fund --no-update-notifier "$package"
export PATH=$folder/bin:$PATH
echo "$folder/bin" >>"$GITHUB_PATH"

# Git does not keep the mode that the server asks for.
install -m 600 "$INPUT_SEED" "$folder/seed.yaml"
voucherctl server start --seed "$folder/seed.yaml" --data "$folder/data" --port 0 --detach

variables=$(voucherctl server env --seed "$folder/seed.yaml" --data "$folder/data" --jq 'to_entries[] | "\(.key)=\(.value)"')
# Before anything else is written: the runner hides from its log what it has read in a line like this.
sed -n '/^VOUCHERCTL_BASE_URL=/!s/^[^=]*=/::add-mask::/p' <<<"$variables"
echo "$variables" >>"$GITHUB_ENV"
sed -n 's/^VOUCHERCTL_BASE_URL=/base-url=/p' <<<"$variables" >>"$GITHUB_OUTPUT"
