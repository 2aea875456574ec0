#!/usr/bin/env bash
# A script made its idempotency key from the clock at each attempt, so the platform could not recognise a retry.
set -u
order=${1:-order-1}
body="{\"credential\":{\"type\":\"redeem_code\",\"value\":\"$VOUCHERCTL_CODE\"},\"reference\":\"$order\"}"

for attempt in 1 2 3 4; do
  reply=$(printf '%s' "$body" | curl --silent --max-time 2 --output /dev/null --data-binary @- \
    --header @<(printf 'Authorization: Bearer %s\n' "$VOUCHERCTL_TOKEN") \
    --header 'Content-Type: application/json' --header "Idempotency-Key: $order-$(date +%s%N)" \
    --write-out '%{http_code} %header{retry-after}' \
    "$VOUCHERCTL_BASE_URL/api/v1/open-platform/vouchers/redeem") || reply='0 '
  read -r status wait <<<"$reply"
  case $status in
    200) echo "$order: paid" && exit 0 ;;
    0 | 429 | 5??) sleep "$((${wait:-0})).3" ;;
    *) break ;;
  esac
done
echo "$order: not paid, status $status" >&2
exit 1
