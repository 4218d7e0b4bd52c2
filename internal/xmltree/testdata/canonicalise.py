"""Canonical forms by libxml2, for requests of oracle_test.go.

Standard input holds one request a line: file, number of the element in document
order, "inclusive" or "exclusive", "comments" or "plain", and the PrefixList.
Standard output holds the canonical form of each, base64, one a line. Element -1
is the whole document; any other is the node set that a signature's reference
to an element stands for: the element, all below it, their attributes and
namespaces.
"""

import base64
import sys
from ctypes import CDLL, POINTER, Structure, byref, c_char_p, c_int, c_void_p, string_at
from ctypes.util import find_library

xml = CDLL(find_library("xml2") or "libxml2.so.2")


class Result(Structure):
    """The beginning of an xmlXPathObject."""

    _fields_ = [("type", c_int), ("nodes", c_void_p)]


for name, result, *arguments in [
    ("xmlReadFile", c_void_p, c_char_p, c_char_p, c_int),
    ("xmlFreeDoc", None, c_void_p),
    ("xmlXPathNewContext", c_void_p, c_void_p),
    ("xmlXPathFreeContext", None, c_void_p),
    ("xmlXPathEval", POINTER(Result), c_char_p, c_void_p),
    ("xmlXPathFreeObject", None, POINTER(Result)),
    ("xmlC14NDocDumpMemory", c_int, c_void_p, c_void_p, c_int, POINTER(c_char_p), c_int, POINTER(c_void_p)),
]:
    function = getattr(xml, name)
    function.restype, function.argtypes = result, arguments


def canonical(document, number, method, comments, prefixes):
    context = xml.xmlXPathNewContext(document)
    below = f"(//*)[{number + 1}]/descendant-or-self::"
    found, nodes = None, None
    if number >= 0:
        found = xml.xmlXPathEval(f"{below}node() | {below}*/@* | {below}*/namespace::*".encode(), context)
        nodes = found.contents.nodes
    listed = (c_char_p * (len(prefixes) + 1))(*[p.encode() for p in prefixes], None)
    text = c_void_p()
    size = xml.xmlC14NDocDumpMemory(
        document, nodes, method == "exclusive", listed if method == "exclusive" else None, comments == "comments", byref(text)
    )
    if size < 0:
        sys.exit("libxml2 gives no canonical form")
    form = string_at(text.value, size)
    if found:
        xml.xmlXPathFreeObject(found)
    xml.xmlXPathFreeContext(context)
    return form


file, document = None, None
for line in sys.stdin:
    wanted, number, *rest = line.split()
    if wanted != file:
        if document:
            xml.xmlFreeDoc(document)
        file, document = wanted, xml.xmlReadFile(wanted.encode(), None, 0)
    method, comments, *prefixes = rest
    print(base64.b64encode(canonical(document, int(number), method, comments, prefixes)).decode())
