#!/usr/bin/env bash
# A deployment script ran with "set -x", so the log of the pipeline showed its token in each call.
set -eux
order=${1:-order-1}

curl --silent --show-error --fail --max-time 2 --retry 3 --output /dev/null \
  --header "Authorization: Bearer $VOUCHERCTL_TOKEN" \
  --header 'Content-Type: application/json' --header "Idempotency-Key: issue-$order" \
  --data "{\"template_id\":\"$VOUCHERCTL_TEMPLATE_ID\",\"external_issue_id\":\"$order\",\"recipient_user_id\":\"$VOUCHERCTL_RECIPIENT\"}" \
  "$VOUCHERCTL_BASE_URL/api/v1/open-platform/vouchers/issue"
echo "$order: issued"
