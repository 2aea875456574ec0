# A shop kept the type of a voucher's last delivery; a late "issued" made a redeemed voucher look unused again.
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

BASE = os.environ["VOUCHERCTL_BASE_URL"] + "/api/v1/open-platform/vouchers/"
SECRET = os.environ["VOUCHERCTL_WEBHOOK_SECRET"].encode()
FILE = pathlib.Path(os.environ["SHOP_DIR"], "shop", "shop.json")
FILE.parent.mkdir(parents=True, exist_ok=True)
shop = json.loads(FILE.read_text()) if FILE.exists() else {"orders": {}, "vouchers": {}, "updates": []}


def save():
    draft = FILE.with_suffix(".new")
    with open(draft, "w") as file:
        json.dump(shop, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, FILE)


def call(path, body, key):
    headers = {
        "Authorization": "Bearer " + os.environ["VOUCHERCTL_TOKEN"],
        "Content-Type": "application/json",
        "Idempotency-Key": key,
    }
    with urllib.request.urlopen(urllib.request.Request(BASE + path, json.dumps(body).encode(), headers), timeout=2) as response:
        return json.loads(response.read())["data"]


def checkout(order):
    """Sends each call once: after a failure the customer repeats the order, which has the same keys."""
    template, recipient = os.environ["VOUCHERCTL_TEMPLATE_ID"], os.environ["VOUCHERCTL_RECIPIENT"]
    voucher = {"template_id": template, "external_issue_id": order, "recipient_user_id": recipient}
    try:
        credentials = call("issue", voucher, "issue-" + order)["credentials"]
        code = next(it for it in credentials if it["type"] == "redeem_code")
        call("redeem", {"credential": code, "reference": order}, "redeem-" + order)
    except (OSError, http.client.HTTPException, ValueError):
        return 502
    shop["orders"][order] = "paid"
    save()
    return 200


def receive(headers, body):
    stamp = headers["X-Platform-Timestamp"]
    expected = hmac.new(SECRET, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    if not any(hmac.compare_digest(expected, it) for it in headers["X-Platform-Signature-V2"].split(",")):
        return 401
    if abs(time.time() - int(stamp)) > 300:
        return 401
    update = json.loads(body)
    payload = update[update["type"]]
    voucher = (payload.get("voucher") if update["type"] == "voucher_issued" else payload.get("redemption")) or {}
    if update["update_id"] not in shop["updates"]:
        shop["updates"].append(update["update_id"])
        if "externalIssueId" in voucher:
            shop["vouchers"][voucher["externalIssueId"]] = update["type"]
        save()
    return 204


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        text = json.dumps({"orders": shop["orders"], "vouchers": shop["vouchers"]}, sort_keys=True)
        self.reply(200, text if self.path == "/orders" else "")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        form = dict(urllib.parse.parse_qsl(body.decode())) if self.path == "/checkout" else {}
        self.reply(checkout(**form) if form else receive(self.headers, body))

    def reply(self, status, text=""):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(os.environ["SHOP_PORT"])), Handler).serve_forever()
