#!/usr/bin/env bash
# A script looked only at the exit code of curl, which is 0 for a 404 or 503 too, and reported orders as paid.
set -u
order=${1:-order-1}
body="{\"credential\":{\"type\":\"redeem_code\",\"value\":\"$VOUCHERCTL_CODE\"},\"reference\":\"$order\"}"

for attempt in 1 2 3 4; do
  if printf '%s' "$body" | curl --silent --max-time 2 --output /dev/null --data-binary @- \
    --header @<(printf 'Authorization: Bearer %s\n' "$VOUCHERCTL_TOKEN") \
    --header 'Content-Type: application/json' --header "Idempotency-Key: redeem-$order" \
    "$VOUCHERCTL_BASE_URL/api/v1/open-platform/vouchers/redeem"; then
    echo "$order: paid"
    exit 0
  fi
  sleep "0.$((attempt * 2))"
done
echo "$order: not paid" >&2
exit 1
