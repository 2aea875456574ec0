# A shop took a timeout for success and handed out the goods; the platform had never carried out the redemption.
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

ORDER = sys.argv[1] if len(sys.argv) > 1 else "order-1"
BODY = {"credential": {"type": "redeem_code", "value": os.environ["VOUCHERCTL_CODE"]}, "reference": ORDER}
HEADERS = {
    "Authorization": "Bearer " + os.environ["VOUCHERCTL_TOKEN"],
    "Content-Type": "application/json",
    "Idempotency-Key": "redeem-" + ORDER,
}
URL = os.environ["VOUCHERCTL_BASE_URL"] + "/api/v1/open-platform/vouchers/redeem"


def redeem():
    for attempt in range(1, 5):
        wait = 0
        try:
            with urllib.request.urlopen(urllib.request.Request(URL, json.dumps(BODY).encode(), HEADERS), timeout=2) as response:
                return json.loads(response.read())["success"]
        except urllib.error.HTTPError as refusal:
            if refusal.code not in (429, 503):
                return False
            wait = float(refusal.headers["Retry-After"] or 0)
        except TimeoutError:
            # The platform is slow today: it will carry out the redemption a little later.
            return True
        except (OSError, http.client.HTTPException, ValueError):
            pass
        time.sleep(max(wait, 0.2 * attempt) + 0.05)
    return False


if not redeem():
    sys.exit(f"{ORDER}: not paid")
print(f"{ORDER}: paid")
