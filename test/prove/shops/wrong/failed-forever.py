# A shop marked an order as failed after a lost response; its voucher existed, and no customer ever got it.
import http.client
import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

ORDER = sys.argv[1] if len(sys.argv) > 1 else "order-1"
FOLDER = pathlib.Path(os.environ["SHOP_DIR"], "shop")
MARK = FOLDER / f"{ORDER}.failed"
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

if MARK.exists():
    sys.exit(f"{ORDER}: failed before, please place a new order")
try:
    with urllib.request.urlopen(urllib.request.Request(URL, json.dumps(BODY).encode(), HEADERS), timeout=2) as response:
        json.loads(response.read())
except (OSError, http.client.HTTPException, ValueError):
    FOLDER.mkdir(parents=True, exist_ok=True)
    MARK.touch()
    sys.exit(f"{ORDER}: failed")
print(f"{ORDER}: issued")
