import java.io.*;
import java.nio.file.*;
import java.security.*;
import java.security.cert.*;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.*;
import javax.xml.crypto.dsig.*;
import javax.xml.crypto.dsig.dom.*;
import javax.xml.crypto.dsig.keyinfo.*;
import javax.xml.crypto.dsig.spec.*;
import javax.xml.parsers.*;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.*;

/**
 * The XML signatures of the JDK, which are those of Apache Santuario. In each folder of the arguments: verifies the
 * files ours-*.xml with signer.crt and says how many, then signs the files theirs-*.xml with signer.der, and writes
 * them as signed-*.xml.
 */
public class XMLSignature {
    static final String WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    static final XMLSignatureFactory FACTORY = XMLSignatureFactory.getInstance("DOM");

    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            X509Certificate cert;
            try (InputStream in = new FileInputStream(folder + "/signer.crt")) {
                cert = (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
            }
            int ok = 0;
            try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of(folder), "ours-*.xml")) {
                for (Path file : files) {
                    ok += verifies(file, cert) ? 1 : 0;
                }
                System.out.println(folder + " " + ok);
            } catch (javax.xml.crypto.MarshalException e) {
                System.out.println(folder + " unknown " + e.getMessage());
                continue;
            }
            try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of(folder), "theirs-*.xml")) {
                for (Path file : files) {
                    sign(file, cert, Files.readAllBytes(Path.of(folder, "signer.der")));
                }
            }
        }
    }

    static Document parse(Path file) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        return factory.newDocumentBuilder().parse(file.toFile());
    }

    static List<Element> identified(Document doc) {
        List<Element> found = new ArrayList<>();
        NodeList all = doc.getElementsByTagName("*");
        for (int i = 0; i < all.getLength(); i++) {
            Element e = (Element) all.item(i);
            if (e.hasAttributeNS(WSU, "Id")) {
                e.setIdAttributeNS(WSU, "Id", true);
                found.add(e);
            }
        }
        return found;
    }

    static boolean verifies(Path file, X509Certificate cert) throws Exception {
        Document doc = parse(file);
        identified(doc);
        Node signature = doc.getElementsByTagNameNS(javax.xml.crypto.dsig.XMLSignature.XMLNS, "Signature").item(0);
        DOMValidateContext context = new DOMValidateContext(cert.getPublicKey(), signature);
        return FACTORY.unmarshalXMLSignature(context).validate(context);
    }

    /** Signs all elements that have an id, with the algorithms and prefixes that the comments in the file name. */
    static void sign(Path file, X509Certificate cert, byte[] der) throws Exception {
        Document doc = parse(file);
        PrivateKey key = KeyFactory.getInstance(cert.getPublicKey().getAlgorithm()).generatePrivate(new PKCS8EncodedKeySpec(der));
        String[] wanted = doc.getFirstChild().getNodeValue().trim().split("\\|", -1);
        List<Reference> references = new ArrayList<>();
        for (Element e : identified(doc)) {
            references.add(FACTORY.newReference("#" + e.getAttributeNS(WSU, "Id"), FACTORY.newDigestMethod(wanted[1], null),
                List.of(FACTORY.newTransform(CanonicalizationMethod.EXCLUSIVE, prefixes(wanted[2]))), null, null));
        }
        SignedInfo info = FACTORY.newSignedInfo(FACTORY.newCanonicalizationMethod(CanonicalizationMethod.EXCLUSIVE, prefixes(wanted[3])),
            FACTORY.newSignatureMethod(wanted[0], null), references);
        KeyInfoFactory keys = FACTORY.getKeyInfoFactory();
        Node security = doc.getElementsByTagNameNS("*", "Security").item(0);
        DOMSignContext context = new DOMSignContext(key, security);
        context.setDefaultNamespacePrefix("ds");
        FACTORY.newXMLSignature(info, keys.newKeyInfo(List.of(keys.newX509Data(List.of(cert))))).sign(context);
        TransformerFactory.newInstance().newTransformer().transform(new DOMSource(doc),
            new StreamResult(file.resolveSibling(file.getFileName().toString().replace("theirs", "signed")).toFile()));
    }

    static C14NMethodParameterSpec prefixes(String list) {
        return list.isEmpty() ? null : new ExcC14NParameterSpec(List.of(list.split(" ")));
    }
}
