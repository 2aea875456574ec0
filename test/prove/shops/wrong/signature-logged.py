# A receiver logged a wrong signature as a warning and handled the delivery all the same.
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

URL = os.environ["VOUCHERCTL_BASE_URL"] + "/api/v1/open-platform/vouchers/redeem"
SECRET = os.environ["VOUCHERCTL_WEBHOOK_SECRET"].encode()
FILE = pathlib.Path(os.environ["SHOP_DIR"], "shop", "shop.json")
FILE.parent.mkdir(parents=True, exist_ok=True)
shop = json.loads(FILE.read_text()) if FILE.exists() else {"orders": {}, "stamps": 0, "updates": []}


def save():
    draft = FILE.with_suffix(".new")
    with open(draft, "w") as file:
        json.dump(shop, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, FILE)


def checkout(order, code):
    """Sends once: after a failure the customer repeats the order, which has the same key."""
    headers = {
        "Authorization": "Bearer " + os.environ["VOUCHERCTL_TOKEN"],
        "Content-Type": "application/json",
        "Idempotency-Key": "redeem-" + order,
    }
    body = json.dumps({"credential": {"type": "redeem_code", "value": code}, "reference": order})
    try:
        with urllib.request.urlopen(urllib.request.Request(URL, body.encode(), headers), timeout=2) as response:
            json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError):
        return 502
    shop["orders"][order] = "paid"
    save()
    return 200


def receive(headers, body):
    signed = headers["X-Platform-Timestamp"].encode() + b"." + body
    expected = hmac.new(SECRET, signed, hashlib.sha256).hexdigest()
    if not any(hmac.compare_digest(expected, it) for it in headers["X-Platform-Signature-V2"].split(",")):
        print("warning: wrong signature", file=sys.stderr)
    if abs(time.time() - int(headers["X-Platform-Timestamp"])) > 300:
        return 401
    update = json.loads(body)
    if update["update_id"] not in shop["updates"]:
        shop["updates"].append(update["update_id"])
        shop["stamps"] += update["type"] == "voucher_redeemed"
        save()
    return 204


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        text = json.dumps({"orders": shop["orders"], "stamps": shop["stamps"]})
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
