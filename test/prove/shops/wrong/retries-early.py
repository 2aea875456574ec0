# A client ignored Retry-After: the busier the platform was, the more calls its shop sent.
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

ORDER = sys.argv[1] if len(sys.argv) > 1 else "order-1"
BODY = {
    "template_id": os.environ["VOUCHERCTL_TEMPLATE_ID"],
    "external_issue_id": ORDER,
    "recipient_user_id": os.environ["VOUCHERCTL_RECIPIENT"],
}
HEADERS = {
    "Authorization": "Bearer " + os.environ["VOUCHERCTL_TOKEN"],
    "Content-Type": "application/json",
    "Idempotency-Key": "issue-" + ORDER,
}
URL = os.environ["VOUCHERCTL_BASE_URL"] + "/api/v1/open-platform/vouchers/issue"


def issue():
    for _ in range(5):
        try:
            with urllib.request.urlopen(urllib.request.Request(URL, json.dumps(BODY).encode(), HEADERS), timeout=2) as response:
                return json.loads(response.read())["success"]
        except urllib.error.HTTPError as refusal:
            if refusal.code not in (429, 503):
                return False
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(0.15)
    return False


if not issue():
    sys.exit(f"{ORDER}: not issued")
print(f"{ORDER}: issued")
