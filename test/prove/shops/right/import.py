# A bulk import in Python: issues or redeems a voucher for each row, continues after a refusal, reports at the end.
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

BASE = os.environ["VOUCHERCTL_BASE_URL"] + "/api/v1/open-platform/vouchers/"
ROWS = [
    ("row-1", "issue", "user-1"),
    ("row-2", "issue", "user-2"),
    ("row-3", "redeem", os.environ["VOUCHERCTL_CODE"]),
    ("row-4", "issue", "user-4"),
]


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
    """Returns None after a success, else the code of the failure."""
    for attempt in range(1, 5):
        status, reply, wait = send(path, body, key)
        if status in (200, 201) and reply.get("success") is True:
            return None
        is_transient = status == 0 or status == 429 or status >= 500
        if not is_transient and reply.get("code") != "IDEMPOTENCY_KEY_IN_PROGRESS":
            break
        if wait > 10:
            break
        if attempt < 4:
            time.sleep(max(wait, 0.2 * attempt) + 0.05)
    return reply.get("code") or f"status {status}"


def handle(row, action, subject):
    # The key comes from the row: a repeat of the import changes nothing that is done.
    if action == "issue":
        template = os.environ["VOUCHERCTL_TEMPLATE_ID"]
        body = {"template_id": template, "external_issue_id": row, "recipient_user_id": subject}
    else:
        body = {"credential": {"type": "redeem_code", "value": subject}, "reference": row}
    return call(action, body, f"import-{action}-{row}")


still_open = []
for row in ROWS:
    failure = handle(*row)
    if failure:
        still_open.append(f"{row[0]} ({failure})")
print(f"{len(ROWS) - len(still_open)} of {len(ROWS)} rows done")
if still_open:
    sys.exit("Still open: " + ", ".join(still_open))
