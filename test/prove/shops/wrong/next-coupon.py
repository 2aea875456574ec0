# After a response that it could not read, a checkout took the customer's next coupon: one order used up two.
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

ORDER = sys.argv[1] if len(sys.argv) > 1 else "order-1"
UNREADABLE = object()


def call(path, body, key):
    """Returns the data of a success, or UNREADABLE. Ends the program after a refusal."""
    headers = {
        "Authorization": "Bearer " + os.environ["VOUCHERCTL_TOKEN"],
        "Content-Type": "application/json",
        "Idempotency-Key": key,
    }
    url = f"{os.environ['VOUCHERCTL_BASE_URL']}/api/v1/open-platform/vouchers/{path}"
    for _ in range(3):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=2) as response:
                return json.loads(response.read())["data"]
        except urllib.error.HTTPError as refusal:
            if refusal.code not in (429, 503):
                sys.exit(f"{ORDER}: not paid, status {refusal.code}")
            time.sleep(float(refusal.headers["Retry-After"] or 1) + 0.05)
        except (http.client.IncompleteRead, ValueError):
            return UNREADABLE
        except (OSError, http.client.HTTPException):
            time.sleep(0.2)
    sys.exit(f"{ORDER}: not paid, no response")


def issue(name):
    body = {
        "template_id": os.environ["VOUCHERCTL_TEMPLATE_ID"],
        "external_issue_id": name,
        "recipient_user_id": os.environ["VOUCHERCTL_RECIPIENT"],
    }
    voucher = call("issue", body, "issue-" + name)
    # The same issue returns the same voucher.
    return issue(name) if voucher is UNREADABLE else voucher


wallet = [issue(name)["credentials"] for name in ("wallet-1", "wallet-2")]
for number, credentials in enumerate(wallet, 1):
    credential = next(it for it in credentials if it["type"] == "redeem_code")
    body = {"credential": credential, "reference": ORDER}
    if call("redeem", body, f"redeem-{ORDER}-{number}") is not UNREADABLE:
        print(f"{ORDER}: paid with one coupon of the wallet")
        sys.exit()
sys.exit(f"{ORDER}: not paid")
