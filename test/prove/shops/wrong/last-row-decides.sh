#!/usr/bin/env bash
# A shell loop ended with the status of its last row: the pipeline was green although a row had issued nothing.
set -u

issue() {
  local attempt status
  for attempt in 1 2 3; do
    status=$(printf '{"template_id":"%s","external_issue_id":"%s","recipient_user_id":"user-of-%s"}' \
      "$VOUCHERCTL_TEMPLATE_ID" "$1" "$1" | curl --silent --max-time 2 --output /dev/null --data-binary @- \
      --header @<(printf 'Authorization: Bearer %s\n' "$VOUCHERCTL_TOKEN") \
      --header 'Content-Type: application/json' --header "Idempotency-Key: issue-$1" --write-out '%{http_code}' \
      "$VOUCHERCTL_BASE_URL/api/v1/open-platform/vouchers/issue") || status=0
    case $status in
      200 | 201) return 0 ;;
      0) sleep 0.3 ;;
      *) break ;;
    esac
  done
  echo "$1: status $status" >&2
  return 1
}

for row in gift-1 gift-2 gift-3; do
  issue "$row"
done
