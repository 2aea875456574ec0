#!/usr/bin/env bash
# Sends a request to every runtime and console endpoint, and to operator API endpoints where needed, with curl only.
# Prints `METHOD PATH STATUS` for each request and exits at the first unexpected status.
# Usage: curl-walk.sh NODE SCRIPT, the Node binary and the CLI script that start the server.
set -euo pipefail

work=$(mktemp -d)
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# `read` blocks until the server prints its ready line, or until a server that fails to start closes the pipe.
mkfifo "$work/ready"
"$1" "$2" server start --memory --port 0 --json >"$work/ready" 2>"$work/log" &
server=$!
read -r ready <"$work/ready" || { cat "$work/log" >&2; exit 1; }

# text NAME [JSON]: prints the first string member NAME of the last response body, or of JSON.
text() { printf '%s' "${2-$(cat "$work/body")}" | grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }

base_url=$(text base_url "$ready")
data_dir=$(text data_dir "$ready")
operator=$(cat "$(text operator_key_file "$ready")")

# call CREDENTIAL METHOD PATH STATUS [BODY [IDEMPOTENCY_KEY]]: sends a request and exits unless it gets STATUS.
call() {
  local arguments=() status
  [ -z "$1" ] || arguments+=(-H "Authorization: Bearer $1")
  [ -z "${5-}" ] || arguments+=(-H 'Content-Type: application/json' --data-binary "$5")
  [ -z "${6-}" ] || arguments+=(-H "Idempotency-Key: $6")
  status=$(curl -sS --noproxy '*' --max-time 20 -X "$2" -D "$work/head" -o "$work/body" -w '%{http_code}' \
    "${arguments[@]}" "$base_url$3")
  printf '%s %s %s\n' "$2" "$3" "$status"
  [ "$status" = "$4" ] || { printf 'expected %s: %s\n' "$4" "$(cat "$work/body")" >&2; exit 1; }
}

# body_matches PATTERN: exits unless the last response body matches the extended regular expression.
body_matches() { grep -Eq "$1" "$work/body" || { printf 'no %s in %s\n' "$1" "$(cat "$work/body")" >&2; exit 1; }; }
hides() { ! grep -qF "$1" "$work/body" || { echo 'a secret is shown again' >&2; exit 1; }; }
replayed() { grep -qi '^idempotent-replayed: true' "$work/head" || { echo 'not marked as replayed' >&2; exit 1; }; }

api=/api/v1/open-platform
platform=/_platform/v1

call '' GET /healthz 200
call '' GET /readyz 200

# C. Console management
call "$operator" POST $platform/accounts/curl/token 200
jwt=$(text jwt)
call '' GET $api/applications 401
body_matches '"code":"TOKEN_MISSING"'
call "$jwt" POST $api/applications 400 '{}'
body_matches '"pointer":"/name"'
call "$jwt" POST $api/applications 201 '{"name":"Corner shop"}'
app=$(text id)
call "$jwt" GET "$api/applications?page=1&limit=5" 200
body_matches "\"id\":\"$app\".*\"pagination\""
call "$jwt" GET $api/applications/"$app" 200
call "$jwt" PATCH $api/applications/"$app" 200 '{"description":"By curl"}'
body_matches '"description":"By curl"'
call "$jwt" GET $api/applications/app_unknown 404
body_matches '"code":"APPLICATION_NOT_FOUND"'
scopes='"vouchers:read","vouchers:templates:write","vouchers:issue","vouchers:verify","vouchers:redeem","vouchers:reverse"'
call "$jwt" POST $api/applications/"$app"/tokens 201 "{\"name\":\"till\",\"scopes\":[$scopes]}"
token=$(text token)
call "$jwt" POST $api/applications/"$app"/tokens 201 '{"name":"reader","scopes":["vouchers:read"]}'
reader=$(text token)
reader_id=$(text id)
call "$jwt" GET $api/applications/"$app"/tokens 200
body_matches "\"id\":\"$reader_id\""
hides "$reader"

# A. Runtime
template='{"external_template_id":"coffee","name":"Free coffee","type":"gift","issuer_name":"Corner shop",
  "fulfiller_name":"Corner shop","fulfillment_category":"offline_service","acquisition_source":"free_claim",
  "validity":{"type":"relative","duration_days":30,"delay_days":0},"issue_limit":10}'
call "$reader" POST $api/vouchers/templates 403 "$template"
body_matches '"code":"INSUFFICIENT_SCOPE"'
call "$token" POST $api/vouchers/templates 201 "$template"
body_matches '"status":"draft"'
tpl=$(text id)
issue="{\"template_id\":\"$tpl\",\"external_issue_id\":\"order-1\",\"recipient_user_id\":\"user-1\"}"
call "$token" POST $api/vouchers/issue 409 "$issue" issue-1
body_matches '"code":"TEMPLATE_NOT_ACTIVE"'
call "$token" POST $api/vouchers/templates/"$tpl"/submit 200
body_matches '"status":"reviewing"'
call "$operator" GET $platform/reviews 200
body_matches "\"id\":\"$tpl\""
call "$operator" POST $platform/templates/"$tpl"/approve 200
call "$token" GET "$api/vouchers/templates?status=active" 200
body_matches "\"id\":\"$tpl\""

call "$token" POST $api/vouchers/issue 400 "$issue"
body_matches '"code":"IDEMPOTENCY_KEY_REQUIRED"'
call "$token" POST $api/vouchers/issue 201 "$issue" issue-1
code=$(grep -o '"type":"redeem_code","value":"[^"]*"' "$work/body" | cut -d '"' -f 8)
qr=$(grep -o '"type":"qr_token","value":"[^"]*"' "$work/body" | cut -d '"' -f 8)
call "$token" POST $api/vouchers/issue 201 "$issue" issue-1
replayed
body_matches "$code"
call "$token" POST $api/vouchers/verify 200 "{\"credential\":{\"type\":\"qr_token\",\"value\":\"$qr\"}}"
body_matches '"redeemable":true'
redeem="{\"credential\":{\"type\":\"redeem_code\",\"value\":\"$code\"},\"reference\":\"till-4\"}"
call "$token" POST $api/vouchers/redeem 200 "$redeem" redeem-1
redemption=$(text id)
call "$token" POST $api/vouchers/redeem 200 "$redeem" redeem-1
replayed
call "$token" POST $api/vouchers/redeem 409 "$redeem" redeem-2
body_matches '"code":"VOUCHER_ALREADY_REDEEMED"'
call "$token" GET $api/vouchers/redemptions/"$redemption" 200
body_matches '"status":"succeeded"'
call "$token" POST $api/vouchers/redemptions/"$redemption"/reverse 200 '{"reason":"wrong till"}' reverse-1
body_matches '"status":"reversed"'
call "$token" POST $api/vouchers/redemptions/"$redemption"/reverse 409 '' reverse-2
body_matches '"code":"REDEMPTION_ALREADY_REVERSED"'
call "$token" POST $api/vouchers/verify 200 "{\"credential\":{\"type\":\"redeem_code\",\"value\":\"$code\"}}"
body_matches '"redeemable":true'

# The history of a voucher, in the operator API
call "$operator" GET "$platform/vouchers?status=issued" 200
body_matches '"externalIssueId":"order-1"'
call "$operator" POST $platform/voucher-lookup 200 "{\"credential\":{\"type\":\"redeem_code\",\"value\":\"$code\"}}"
for event in issued redeemed replayed reversed verified; do body_matches "\"type\":\"$event\""; done
hides "$code"
hides "$token"
voucher=$(text id)
call "$operator" GET $platform/vouchers/"$voucher" 200

# C. Bots of an application
call "$jwt" POST /api/v1/bots/applications 201 '{"name":"Barista","username":"barista_bot"}'
bot=$(text id)
call "$jwt" PUT $api/applications/"$app"/bots/"$bot" 409
body_matches '"code":"BOT_NOT_APPROVED"'
call "$operator" POST $platform/bots/"$bot"/approve 200
call "$jwt" PUT $api/applications/"$app"/bots/"$bot" 200
body_matches "\"botId\":\"$bot\""
call "$jwt" DELETE $api/applications/"$app"/bots/"$bot" 200
body_matches '"linkedBots":\[\]'

# C. Revoking a token, disabling an application
call "$jwt" DELETE $api/applications/"$app"/tokens/"$reader_id" 200
body_matches '"status":"revoked"'
call "$reader" GET $api/vouchers/templates 401
body_matches '"code":"TOKEN_REVOKED"'
call "$jwt" PATCH $api/applications/"$app" 200 '{"status":"disabled"}'
call "$token" GET $api/vouchers/templates 403
body_matches '"code":"APPLICATION_DISABLED"'

kill -TERM "$server"
wait "$server" && exit_code=0 || exit_code=$?
server=
[ "$exit_code" = 0 ] || { printf 'the server ended with %s\n' "$exit_code" >&2; exit 1; }
[ ! -e "$data_dir" ] || { echo 'its data folder stayed' >&2; exit 1; }
