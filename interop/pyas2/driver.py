"""Runs pyas2lib as an AS2 partner for the tests of the folder above.

pyas2lib builds and reads messages and knows nothing of HTTP: the server and the
client here are ours. Commands come as lines of JSON on standard input, and each is
answered with one line (see ../README.md). The library does not compare MICs of
unsigned messages, and takes a wrong one for success, so that is done here, by RFC
4130 section 7.3.1 over what the library itself put into the message.
"""

import base64
import hashlib
import http.client
import json
import os
import re
import sys
import threading
import traceback
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def import_pyas2lib():
    """oscrypto 1.3.0 reads versions of OpenSSL with one digit at the end only.

    It finds no version in "OpenSSL 3.0.19" and refuses to start, so its search
    is given "3.0.9" while it loads.
    """
    search = re.search

    def patched(pattern, text, flags=0):
        if isinstance(text, str) and text.startswith("OpenSSL "):
            text = re.sub(r"(\d+\.\d+\.)\d{2,}", r"\g<1>9", text)
        return search(pattern, text, flags)

    re.search = patched
    try:
        from pyas2lib import as2
    finally:
        re.search = search
    return as2


as2 = import_pyas2lib()
CIPHERS = {"3des": "tripledes_192_cbc", "aes128-cbc": "aes_128_cbc",
           "aes192-cbc": "aes_192_cbc", "aes256-cbc": "aes_256_cbc"}
seen = threading.local()  # what the library compresses or encrypts first, in this thread


def watched(name):
    """Notes the first part that a function of the library is given."""
    function = getattr(as2, name)

    def watching(part, *rest, **more):
        if seen.first is None:
            seen.first = part
        return function(part, *rest, **more)

    setattr(as2, name, watching)


watched("compress_message")
watched("encrypt_message")


class Board:
    """Where one thread leaves facts for another."""

    def __init__(self):
        self.facts, self.changed = {}, threading.Condition()

    def put(self, key, value):
        with self.changed:
            self.facts[key] = value
            self.changed.notify_all()

    def get(self, key, wait):
        with self.changed:
            self.changed.wait_for(lambda: key in self.facts, wait)
            return self.facts.get(key)


class Driver:
    """One partner with a name for each profile."""

    def __init__(self):
        self.received, self.receipts, self.sent = Board(), Board(), Board()
        self.count, self.last_error = 0, ""
        self.lost = set()  # names whose next answer does not leave

    def start(self, command):
        material = command["material"]
        self.dir, self.url = material["dir"], material["url"]
        self.edigw = read(material["edigw"])
        self.key = read(material["key"]) + read(material["cert"])
        self.listen = command["listen"]
        self.terms = {terms["peer"]: terms for terms in command["profiles"]}
        host, port = self.listen.split(":")
        server = ThreadingHTTPServer((host, int(port)), Handler)
        server.daemon_threads, server.driver = True, self
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return {}

    def organization(self, name):
        return as2.Organization(as2_name=name, sign_key=self.key, decrypt_key=self.key,
                                mdn_url=f"http://{self.listen}/receipts", domain="peer.example")

    def partner(self, terms):
        signed = terms["mdn"] != "none" and terms["mdn_signed"]
        return as2.Partner(
            as2_name=terms["edigw"], verify_cert=self.edigw, encrypt_cert=self.edigw,
            compress=terms["compress"] != "none",
            encrypt=terms["encrypt"] != "none", enc_alg=CIPHERS.get(terms["encrypt"], "aes_256_cbc"),
            sign=terms["sign"] != "none", digest_alg=terms["sign"] if terms["sign"] != "none" else "sha256",
            sign_alg="rsassa_pss" if terms["signature"] == "rsa-pss" else "rsassa_pkcs1v15",
            mdn_mode=None if terms["mdn"] == "none" else terms["mdn"].upper(),
            mdn_digest_alg=terms["mdn_algorithm"] if signed else None)

    def parties(self, ours, theirs):
        """The two sides of a message that comes in, as far as they are known."""
        terms = self.terms.get(ours)
        if terms is None or terms["edigw"] != theirs:
            return None, None
        return self.organization(ours), self.partner(terms)

    def send(self, command):
        terms, document = command["terms"], command["document"]
        seen.first = None
        message = as2.Message(self.organization(terms["peer"]), self.partner(terms))
        message.build(read(document["file"]), filename=document["file_name"], subject="interop",
                      content_type=terms["content_type"], disposition_notification_to="edi@peer.example")
        first = message.content if seen.first is None else seen.first
        message_id = f"<{message.message_id}>"
        self.sent.put(message.message_id, message)
        url = urllib.parse.urlparse(self.url)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=command["wait"])
        connection.request("POST", url.path, message.content, message.headers)
        answer = connection.getresponse()
        body = answer.read()
        outcome = {"message_id": message_id, "status": answer.status}
        if answer.status // 100 != 2:
            outcome["problem"] = f"HTTP {answer.status}: {body[:200]!r}"
            return outcome
        receipt = None
        if terms["mdn"] == "sync":
            receipt = self.receipt(raw(answer.getheaders(), body))
        elif terms["mdn"] == "async":
            receipt = self.receipts.get(message_id, command["wait"])
        outcome.update(receipt or {})
        if receipt:
            outcome["mic"] = own_mic(message, first, receipt["mic_returned"])
            outcome["equal"] = same_mic(outcome["mic"], receipt["mic_returned"])
        elif terms["mdn"] != "none":
            outcome["problem"] = f"no receipt came; last error: {self.last_error}"
        return outcome

    def receipt(self, content):
        """What the library makes of a receipt."""
        mdn = as2.Mdn()
        status, detail = mdn.parse(content, lambda message_id, recipient: self.sent.get(message_id, 0))
        facts = {"disposition": "", "mic_returned": "", "signed": mdn.digest_alg is not None}
        # The library drops the signature from what it keeps once it verified it.
        facts["verified"] = facts["signed"] and not (status or "failed").startswith("failed")
        for part in mdn.payload.walk():
            if part.get_content_type() == "message/disposition-notification":
                fields = part.get_payload()[-1]
                facts["disposition"] = fields["Disposition"].split(";", 1)[1].strip()
                facts["mic_returned"] = fields.get("Received-Content-MIC", "")
        if status != "processed":
            facts["problem"] = f"{status}: {detail}"
        return dict(facts, message_id=f"<{mdn.orig_message_id}>")

    def take(self, headers, body):
        """Gives the answer to a message that came in, and a receipt that is to be sent by itself."""
        message = as2.Message()
        status, failure, mdn = message.parse(raw(headers, body), find_org_partner_cb=self.parties,
                                             find_message_cb=lambda message_id, partner: self.received.get(f"<{message_id}>", 0))
        if status == "processed":
            self.count += 1
            file = os.path.join(self.dir, f"document-{self.count}")
            with open(file, "wb") as out:
                out.write(message.payload.get_payload(decode=True))
            self.received.put(f"<{message.message_id}>", {
                "file": file, "file_name": message.payload.get_filename() or "",
                "mic": f"{message.mic.decode()}, {message.digest_alg}" if message.mic else ""})
        else:
            self.last_error = f"{status}: {failure[0]}"
        return mdn

    def lose(self, command):
        self.lost.add(command["terms"]["peer"])
        return {}

    def arrival(self, command):
        facts = self.received.get(command["message_id"], command["wait"])
        if facts is None:
            raise RuntimeError(f"no document of {command['message_id']} has come; last error: {self.last_error}")
        return facts


class Handler(BaseHTTPRequestHandler):
    """Messages come to any path, receipts to /receipts."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        driver = self.server.driver
        body = self.body()
        try:
            if self.path == "/receipts":
                facts = driver.receipt(raw(self.headers.items(), body))
                driver.receipts.put(facts["message_id"], facts)
                return self.reply(204, {}, b"")
            mdn = driver.take(self.headers.items(), body)
        except Exception:
            driver.last_error = traceback.format_exc()
            return self.reply(500, {"Content-Type": "text/plain"}, b"the library failed\n")
        if self.headers["AS2-To"] in driver.lost:
            driver.lost.remove(self.headers["AS2-To"])
            self.close_connection = True
        elif mdn is None:
            self.reply(200, {}, b"")
        elif mdn.mdn_mode == "SYNC":
            self.reply(200, mdn.headers, mdn.content)
        else:
            self.reply(202, {}, b"")
            url = urllib.parse.urlparse(mdn.mdn_url)
            connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
            connection.request("POST", url.path, mdn.content, mdn.headers)
            connection.getresponse().read()
            connection.close()

    def body(self):
        if self.headers["Content-Length"]:
            return self.rfile.read(int(self.headers["Content-Length"]))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return b"".join(chunks)

    def reply(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value.replace("\n", ""))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def raw(headers, body):
    """Headers and body in one, as the library reads them."""
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1") + b"\r\n" + body


def own_mic(message, first, returned):
    """The library's MIC if it has one, else ours of what it sent, by the algorithm of the receipt."""
    if message.mic:
        return f"{message.mic.decode()}, {message.digest_alg}"
    algorithm = returned.partition(",")[2].strip()
    digest = hashlib.new(algorithm.lower().replace("-", ""), first).digest() if algorithm else b""
    return f"{base64.b64encode(digest).decode()}, {algorithm}"


def same_mic(a, b):
    """Compares MICs; a blank or a dash in the name of the algorithm does not count."""
    def parts(mic):
        digest, _, algorithm = mic.partition(",")
        return digest.strip(), algorithm.strip().lower().replace("-", "")
    return a != "" and parts(a) == parts(b)


def read(file):
    with open(file, "rb") as f:
        return f.read()


def main():
    driver, out = Driver(), threading.Lock()
    operations = {"start": driver.start, "send": driver.send, "received": driver.arrival, "lose": driver.lose}

    def serve(command):
        try:
            answer = operations[command["op"]](command)
        except Exception:
            answer = {"error": traceback.format_exc()}
        with out:
            print(json.dumps(dict(answer, id=command["id"])), flush=True)

    for line in sys.stdin:
        threading.Thread(target=serve, args=(json.loads(line),), daemon=True).start()


main()
