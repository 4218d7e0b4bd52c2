// Reads and writes XML Encryption with Apache Santuario, for the tests beside.
// Each line of the input is one case, its words separated by blanks:
//
//   read  <private key> <EncryptedKey> <data cipher> <ciphertext>
//   write <certificate> <key transport> <digest> <mask> <label> <data cipher> <content>
//
// Files are named; a word that is not given is "-". The answer is one line:
// "ok" with the content, or with EncryptedKey and ciphertext, in base64; or
// "error" and why.

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.Key;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.xml.security.Init;
import org.apache.xml.security.encryption.EncryptedData;
import org.apache.xml.security.encryption.EncryptedKey;
import org.apache.xml.security.encryption.XMLCipher;
import org.apache.xml.security.utils.XMLUtils;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

public class Santuario {
    static DocumentBuilder builder;

    public static void main(String[] args) throws Exception {
        Init.init();
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        builder = factory.newDocumentBuilder();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                String[] words = line.split(" ");
                answer = "ok " + (words[0].equals("read") ? read(words) : write(words));
            } catch (Exception e) {
                answer = ("error " + e).replace('\n', ' ');
            }
            System.out.println(answer);
        }
    }

    static byte[] file(String name) throws Exception { return Files.readAllBytes(Paths.get(name)); }

    static String base64(byte[] b) { return Base64.getEncoder().encodeToString(b); }

    static String read(String[] w) throws Exception {
        Key key = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(file(w[1])));
        Document document = builder.parse(new ByteArrayInputStream(file(w[2])));
        XMLCipher unwrap = XMLCipher.getInstance();
        unwrap.init(XMLCipher.UNWRAP_MODE, key);
        EncryptedKey encrypted = unwrap.loadEncryptedKey(document, document.getDocumentElement());
        Key secret = unwrap.decryptKey(encrypted, w[3]);

        String data = "<xenc:EncryptedData xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\"><xenc:EncryptionMethod Algorithm=\"" + w[3]
            + "\"/><xenc:CipherData><xenc:CipherValue>" + base64(file(w[4])) + "</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>";
        Document part = builder.parse(new ByteArrayInputStream(data.getBytes("UTF-8")));
        XMLCipher decrypt = XMLCipher.getInstance();
        decrypt.init(XMLCipher.DECRYPT_MODE, secret);
        return base64(decrypt.decryptToByteArray(part.getDocumentElement()));
    }

    static String write(String[] w) throws Exception {
        PublicKey key = CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(file(w[1]))).getPublicKey();
        byte[] random = new byte[Integer.parseInt(w[6].replaceAll(".*aes(\\d+)-gcm", "$1")) / 8];
        new SecureRandom().nextBytes(random);
        SecretKey secret = new SecretKeySpec(random, "AES");
        Document document = builder.newDocument();
        XMLCipher wrap = XMLCipher.getInstance(w[2], null, w[3].equals("-") ? null : w[3]);
        wrap.init(XMLCipher.WRAP_MODE, key);
        EncryptedKey encrypted = wrap.encryptKey(document, secret, w[4].equals("-") ? null : w[4],
            w[5].equals("-") ? null : Base64.getDecoder().decode(w[5]));
        Element element = wrap.martial(document, encrypted);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        XMLUtils.outputDOM(element, out);

        XMLCipher encrypt = XMLCipher.getInstance(w[6]);
        encrypt.init(XMLCipher.ENCRYPT_MODE, secret);
        EncryptedData data = encrypt.encryptData(document, null, new ByteArrayInputStream(file(w[7])));
        String value = data.getCipherData().getCipherValue().getValue().replaceAll("\\s", "");
        return base64(out.toByteArray()) + " " + value;
    }
}
