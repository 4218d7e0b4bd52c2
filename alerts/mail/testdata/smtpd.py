"""SMTP server for tests: python3 smtpd.py CERT KEY USER PASSWORD

Prints its port, then one JSON object for each mail that it took. STARTTLS and
a login are required.
"""
import json
import ssl
import sys

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword


class Handler:
    async def handle_DATA(self, server, session, envelope):
        print(json.dumps({
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "tls": session.ssl is not None,
            "user": session.auth_data.decode() if session.auth_data else "",
            "mail": envelope.content.decode(),
        }), flush=True)
        return "250 taken"


def main():
    cert, key, user, password = sys.argv[1:5]

    def login(server, session, envelope, mechanism, data):
        good = isinstance(data, LoginPassword) and (data.login, data.password) == (user.encode(), password.encode())
        return AuthResult(success=good, handled=False, auth_data=data.login if good else None)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server = Controller(Handler(), hostname="127.0.0.1", port=0, tls_context=context, require_starttls=True,
                        auth_required=True, authenticator=login)
    loop = server.loop
    started = loop.run_until_complete(loop.create_server(server.factory, host="127.0.0.1", port=0))
    print(started.sockets[0].getsockname()[1], flush=True)
    loop.run_forever()


main()
