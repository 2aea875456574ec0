#!/usr/bin/env bash
# Keeps what a released version stores: make.sh PACKAGE, with the tarball of that version. Run it after each release. The
# tokens in it are those of a server that only the tests start.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --global --prefix "$work/npm" --no-audit --no-fund "$1" >&2
export PATH=$work/npm/bin:$PATH HOME=$work/home
to=$PWD/$(voucherctl --version)
mkdir -p "$HOME" "$to"
node ../../support/surface.js "$work/npm/lib/node_modules/voucherctl/dist/types" >"$to/surface.json"
cd "$work"

voucherctl server start --data data --port 0 --detach --auto-approve >&2
voucherctl login --local --data data --account acme >&2
VOUCHERCTL_BASE_URL=$(voucherctl server status --data data --jq .base_url)
app=$(voucherctl apps create --name 'Coffee shop' --jq .id)
token=$(voucherctl tokens create --app "$app" --jq .token --scope vouchers:read --scope vouchers:templates:write \
  --scope vouchers:issue --scope vouchers:verify --scope vouchers:redeem)
voucherctl login --profile shop --with-token - --base-url "$VOUCHERCTL_BASE_URL" <<<"$token" >&2
template() {
  voucherctl templates create --profile shop --external-id "$1" --name 'One free coffee' --type gift --issue-limit "$2" \
    --issuer-name 'Coffee shop' --fulfiller-name 'Coffee shop' --fulfillment-category offline_service \
    --acquisition-source free_claim --valid-from 2026-01-01 --valid-to 2099-12-31 --submit --jq .id
}
template coffee-1 1000 >&2
two=$(template coffee-2 2)
printf '%s\n' external_issue_id,recipient_user_id sale-1,user-1 sale-2,user-2 sale-3,user-3 >customers.csv
# The limit of the template leaves one row for the run that resumes.
voucherctl vouchers issue-many customers.csv --profile shop --template "$two" --out codes.csv --concurrency 1 >&2 || true
code=$(sed -n 2p codes.csv | cut -d, -f5)
voucherctl vouchers redeem "$code" --profile shop --reference till-4 >&2

export VOUCHERCTL_WEBHOOK_SECRET=a-secret-of-the-tests
voucherctl webhook listen --port 0 --inbox inbox --max-events 2 --ready-file ready.json >&2 &
until [ -f ready.json ]; do sleep 0.1; done
url=$(node -p 'JSON.parse(fs.readFileSync("ready.json", "utf8")).url')
voucherctl webhook trigger ping --url "$url" >&2
voucherctl webhook trigger message --url "$url" >&2
wait
voucherctl server stop --data data >&2
voucherctl server export --data data --out export.ndjson >&2

# Without the log: it is no input of a later version.
tar -C "$work" --sort=name --owner=0 --group=0 --exclude=server.log -czf "$to/state.tgz" \
  data inbox customers.csv codes.csv codes.csv.journal export.ndjson -C "$HOME" .config
ls -l "$to" >&2
