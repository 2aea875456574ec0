# A till verified first; after a lost response it showed "already used" for a voucher that it had redeemed itself.
import http.client
import json
import os
import sys
import urllib.error
import urllib.request

ORDER = sys.argv[1] if len(sys.argv) > 1 else "order-1"
CREDENTIAL = {"type": "redeem_code", "value": os.environ["VOUCHERCTL_CODE"]}


def call(path, body):
    """Sends once: after a failure the cashier repeats the order, which has the same key."""
    headers = {
        "Authorization": "Bearer " + os.environ["VOUCHERCTL_TOKEN"],
        "Content-Type": "application/json",
        "Idempotency-Key": f"{path}-{ORDER}",
    }
    url = f"{os.environ['VOUCHERCTL_BASE_URL']}/api/v1/open-platform/vouchers/{path}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=2) as response:
            return json.loads(response.read())["data"]
    except urllib.error.HTTPError as refusal:
        sys.exit(f"{ORDER}: not paid, status {refusal.code}")
    except (OSError, http.client.HTTPException, ValueError):
        sys.exit(f"{ORDER}: not paid, please repeat")


check = call("verify", {"credential": CREDENTIAL})
if not check["redeemable"]:
    sys.exit(f"{ORDER}: not paid, {check['reason']}")
call("redeem", {"credential": CREDENTIAL, "reference": ORDER})
print(f"{ORDER}: paid")
