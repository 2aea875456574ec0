# A till in Python: redeems the customer's voucher, finds the goods sold out, and reverses the redemption.
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

BASE = os.environ["VOUCHERCTL_BASE_URL"] + "/api/v1/open-platform/vouchers/"
ORDER = sys.argv[1] if len(sys.argv) > 1 else "order-1"


def send(path, body, key):
    """Returns the status, the body and Retry-After in seconds; status 0 if the outcome is unknown."""
    headers = {
        "Authorization": "Bearer " + os.environ["VOUCHERCTL_TOKEN"],
        "Content-Type": "application/json",
        "Idempotency-Key": key,
    }
    request = urllib.request.Request(BASE + path, json.dumps(body).encode(), headers)
    try:
        try:
            response = urllib.request.urlopen(request, timeout=2)
        except urllib.error.HTTPError as refusal:
            response = refusal
        with response:
            return response.status, json.loads(response.read()), float(response.headers["Retry-After"] or 0)
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {"code": "NO_RESPONSE"}, 0


def call(path, body, key):
    for attempt in range(1, 5):
        status, reply, wait = send(path, body, key)
        if status in (200, 201) and reply.get("success") is True:
            return reply["data"]
        is_transient = status == 0 or status == 429 or status >= 500
        if not is_transient and reply.get("code") != "IDEMPOTENCY_KEY_IN_PROGRESS":
            break
        if wait > 10:
            break
        if attempt < 4:
            time.sleep(max(wait, 0.2 * attempt) + 0.05)
    sys.exit(f"{ORDER}: still open at {path.split('/')[-1]}, {reply.get('code')}")


credential = {"type": "redeem_code", "value": os.environ["VOUCHERCTL_CODE"]}
# Both keys come from the order: a repeat finds its own redemption and its own reversal.
redemption = call("redeem", {"credential": credential, "reference": ORDER}, "redeem-" + ORDER)
call(f"redemptions/{redemption['id']}/reverse", {"reason": "Sold out"}, "reverse-" + ORDER)
print(f"{ORDER}: sold out, the voucher is valid again")
