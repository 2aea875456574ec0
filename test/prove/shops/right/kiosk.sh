#!/usr/bin/env bash
# A kiosk in bash with curl: issues a voucher for one order and redeems it at the counter.
set -u
order=${1:-order-1}

# call PATH KEY BODY: sets `body` to the response of a success. No secret is an argument of curl.
call() {
  local attempt reply status wait
  for attempt in 1 2 3 4; do
    reply=$(printf '%s' "$3" | curl --silent --max-time 2 --data-binary @- \
      --header @<(printf 'Authorization: Bearer %s\n' "$VOUCHERCTL_TOKEN") \
      --header 'Content-Type: application/json' --header "Idempotency-Key: $2" \
      --write-out '\n%{http_code} %header{retry-after}' \
      "$VOUCHERCTL_BASE_URL/api/v1/open-platform/vouchers/$1") || reply=$'\n0 '
    body=${reply%$'\n'*}
    read -r status wait <<<"${reply##*$'\n'}"
    case $status in
      200 | 201) [[ $body == *'"success":true'* ]] && return 0 ;;
      0 | 429 | 5??) ;;
      *) [[ $body == *IDEMPOTENCY_KEY_IN_PROGRESS* ]] || break ;;
    esac
    [[ $attempt == 4 ]] || sleep "$((${wait:-0})).3"
  done
  echo "$order: not done, $1 ended with status $status" >&2
  return 1
}

# Keys and bodies come from the order only, so that a repeat finds its own voucher and its own redemption.
call issue "issue-$order" "{\"template_id\":\"$VOUCHERCTL_TEMPLATE_ID\",\"external_issue_id\":\"$order\",\"recipient_user_id\":\"$VOUCHERCTL_RECIPIENT\"}" || exit 1
[[ $body =~ \"type\":\"redeem_code\",\"value\":\"([A-Z0-9-]+)\" ]] || exit 1
call redeem "redeem-$order" "{\"credential\":{\"type\":\"redeem_code\",\"value\":\"${BASH_REMATCH[1]}\"},\"reference\":\"$order\"}" || exit 1
echo "$order: issued and redeemed"
