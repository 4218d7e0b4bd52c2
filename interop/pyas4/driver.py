"""Runs the Python library as4 as an AS4 partner for the tests of the folder above.

The library builds and reads messages of the Peppol network and knows nothing of
HTTP: the server and the client here are ours. Commands come as lines of JSON on
standard input, and each is answered with one line (see ../README.md).
"""

import http.client
import json
import os
import sys
import threading
import traceback
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from as4 import AS4LocalPrivateKey, AS4References, ReceiptVerificationError, SecurityPolicy, pinned_certificates
from as4.profiles.peppol.document_identifier import BusdoxDocidQnsDocumentIdentifier
from as4.profiles.peppol.message import PeppolAS4MessageBuilderArgs
from as4.profiles.peppol.profile import (
    PeppolAS4Profile,
    PeppolReceivingExchange,
    PeppolSendingExchange,
    create_peppol_external_party,
    create_peppol_internal_party,
)


class Board:
    """Where one thread leaves facts for another."""

    def __init__(self):
        self.facts, self.changed = {}, threading.Condition()

    def put(self, key, value):
        with self.changed:
            self.facts[key] = value
            self.changed.notify_all()

    def get(self, key, wait):
        """The facts, or None if they are not there in time."""
        with self.changed:
            self.changed.wait_for(lambda: key in self.facts, wait)
            return self.facts.get(key)


class Driver:
    def __init__(self):
        self.received, self.last_error, self.count, self.lost = Board(), "", 0, set()

    def start(self, command):
        self.material = command["material"]
        self.terms = {terms["profile"]: terms for terms in command["profiles"]}
        self.dir = os.path.join(self.material["dir"], "driver")
        os.makedirs(self.dir, exist_ok=True)
        host, port = command["listen"].split(":")
        server = ThreadingHTTPServer((host, int(port)), Handler)
        server.driver = self
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return {}

    def us(self, terms, key):
        """Who we are, with one key for everything: the library knows no second one."""
        pair = self.material["keys"][key]
        return create_peppol_internal_party(terms["peer"], certificate(pair["cert"]),
                                            AS4LocalPrivateKey(load_pem_private_key(read(pair["key"]), None)))

    def edigw(self, terms, key="rsa"):
        return create_peppol_external_party(terms["edigw"], certificate(self.material["edigw"][key]))

    def new_file(self, content):
        self.count += 1
        file = os.path.join(self.dir, f"document-{self.count}")
        with open(file, "wb") as out:
            out.write(content)
        return file

    def send(self, command):
        terms = command["terms"]
        exchange = PeppolSendingExchange(profile=PeppolAS4Profile, local_party=self.us(terms, terms["sign_key"]),
                                         remote_party=self.edigw(terms, command.get("recipient", "rsa")))
        if "message_id" in command:
            exchange.identifiers = AS4References(message_id=command["message_id"])
        headers, body = exchange.build(read(command["documents"][0]["file"]), PeppolAS4MessageBuilderArgs(
            sender=terms["properties"]["originalSender"], recipient=terms["properties"]["finalRecipient"],
            document_type_identifier=BusdoxDocidQnsDocumentIdentifier.from_identifier_value(terms["action"].removeprefix("busdox-docid-qns::")),
            document_identification_instance_identifier=exchange.message_id, process_identifier=terms["service"], c1_country_id="DE"))
        if command.get("corrupt"):
            body = body.replace(b"</eb3:ConversationId>", b"-forged</eb3:ConversationId>")
        # The library puts the document into an envelope of its own.
        sent = self.new_file(next(iter(exchange.message.decrypted_data.values())))
        status, answer = post(terms["url"], headers, body, command["wait"])
        outcome = {"message_id": exchange.message_id, "status": status, "sent": sent}
        try:
            exchange.mark_sent().receive_signal(answer)
            outcome.update(verified=True, equal=exchange.successful)
        except ReceiptVerificationError as error:
            outcome["problem"] = str(error)
        if exchange.receipt is not None:
            outcome.update(receipt=exchange.receipt.success, ref_to=exchange.receipt.original_message_id,
                           signal_id=exchange.receipt.soap_envelope.header.messaging.signal_message.message_info.message_id.value)
            outcome["errors"] = [{"code": error.error_code, "severity": error.severity, "detail": error.error_detail.value if error.error_detail else ""}
                                 for error in exchange.errors]
        return outcome

    def take(self, profile, headers, body):
        """Gives headers and body of the signal that answers a message."""
        terms = self.terms[profile]
        exchange = PeppolReceivingExchange(profile=PeppolAS4Profile, local_party=self.us(terms, terms["crypt_key"]))
        exchange.receive(dict(headers), body, security_policy=SecurityPolicy(
            signer_resolver=pinned_certificates(self.edigw(terms, terms["edigw_sign"]).credentials.certificate)))
        message = exchange.message
        if exchange.successful:
            user = message.soap_envelope.header.messaging.user_message
            part = user.payload_info.part_info[0]
            properties = {p.name: p.value for p in part.part_properties.properties}
            self.received.put(message.message_id, {
                "signed": True, "encrypted": True,  # else the library refuses the message
                "properties": {p.name: p.value for p in user.message_properties.properties},
                "payloads": [{"file": self.new_file(message.decrypted_data[part.href.removeprefix("cid:")]),
                              "content_type": properties["MimeType"], "properties": properties}]})
        else:
            self.last_error = str(message.parse_error)
        return exchange.build_signal()

    def lose(self, command):
        self.lost.add(command["terms"]["profile"])
        return {}

    def arrival(self, command):
        facts = self.received.get(command["message_id"], command["wait"])
        if facts is None:
            raise RuntimeError(f"no document of {command['message_id']} has come; last error: {self.last_error}")
        return facts


class Handler(BaseHTTPRequestHandler):
    """Messages of a profile come to /as4/PROFILE."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        driver, profile = self.server.driver, self.path.removeprefix("/as4/")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            headers, signal = driver.take(profile, self.headers.items(), body)
        except Exception:
            driver.last_error = traceback.format_exc()
            return self.reply(500, {"Content-Type": "text/plain"}, b"the library failed\n")
        if profile in driver.lost:
            driver.lost.remove(profile)
            self.close_connection = True
            return None
        return self.reply(200, headers, signal)

    def reply(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def post(url, headers, body, wait):
    to = urllib.parse.urlparse(url)
    connection = http.client.HTTPConnection(to.hostname, to.port, timeout=wait)
    connection.request("POST", to.path, body, headers)
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    return response.status, answer


def certificate(file):
    return x509.load_pem_x509_certificate(read(file))


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
