import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Key;
import java.util.Base64;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.xml.security.Init;
import org.apache.xml.security.encryption.EncryptedKey;
import org.apache.xml.security.encryption.XMLCipher;
import org.apache.xml.security.signature.XMLSignature;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** Santuario looks at what edigw put on the wire with Apache's library alone: no phase4 and no WSS4J. */
class Santuario {
  private static final String WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
  private static final String DS = "http://www.w3.org/2000/09/xmldsig#", XENC = "http://www.w3.org/2001/04/xmlenc#";

  private final Keys keys;

  Santuario(Keys keys) {
    this.keys = keys;
    Init.init();
  }

  /** Says whether the signature of an envelope without attachments holds. */
  void verify(Map<String, Object> c, Map<String, Object> answer) throws Exception {
    Document d = parse(Files.readString(Path.of(Json.text(c, "envelope"))));
    NodeList all = d.getElementsByTagName("*");
    for (int i = 0; i < all.getLength(); i++) {
      Element e = (Element) all.item(i);
      if (e.hasAttributeNS(WSU, "Id")) e.setIdAttributeNS(WSU, "Id", true);
    }
    XMLSignature signature = new XMLSignature(first(d, DS, "Signature"), "", true);
    answer.put("verified", signature.getSignedInfo().getLength() == 2 && signature.checkSignatureValue(keys.edigw("rsa").getPublicKey()));
  }

  /** Decrypts the one attachment of a message into a file. */
  void open(Map<String, Object> c, Map<String, Object> answer) throws Exception {
    Document d = parse(Files.readString(Path.of(Json.text(c, "envelope"))));
    String method = first(first(d, XENC, "EncryptedData"), XENC, "EncryptionMethod").getAttribute("Algorithm");
    XMLCipher cipher = XMLCipher.getInstance();
    cipher.init(XMLCipher.UNWRAP_MODE, keys.privateKey("rsa"));
    EncryptedKey wrapped = cipher.loadEncryptedKey(d, first(d, XENC, "EncryptedKey"));
    Key key = cipher.decryptKey(wrapped, method);
    // What it decrypts stands in the document, not beside it.
    String content = Base64.getEncoder().encodeToString(Files.readAllBytes(Path.of(Json.text(c, "attachment"))));
    Document data = parse("<EncryptedData xmlns=\"" + XENC + "\"><EncryptionMethod Algorithm=\"" + method + "\"/><CipherData><CipherValue>" + content
        + "</CipherValue></CipherData></EncryptedData>");
    XMLCipher opener = XMLCipher.getInstance(method);
    opener.init(XMLCipher.DECRYPT_MODE, key);
    Path file = Path.of(Json.text(c, "attachment") + ".opened");
    Files.write(file, opener.decryptToByteArray(data.getDocumentElement()));
    answer.put("file", file.toString());
  }

  private static Document parse(String text) throws Exception {
    DocumentBuilderFactory f = DocumentBuilderFactory.newInstance();
    f.setNamespaceAware(true);
    return f.newDocumentBuilder().parse(new InputSource(new StringReader(text)));
  }

  private static Element first(Document d, String space, String name) { return first(d.getDocumentElement(), space, name); }

  private static Element first(Element e, String space, String name) { return (Element) e.getElementsByTagNameNS(space, name).item(0); }
}
