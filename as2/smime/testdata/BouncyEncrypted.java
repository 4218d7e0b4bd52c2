import java.io.ByteArrayInputStream;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.Security;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.interfaces.ECPublicKey;
import java.util.Arrays;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import org.bouncycastle.asn1.ASN1EncodableVector;
import org.bouncycastle.asn1.ASN1ObjectIdentifier;
import org.bouncycastle.asn1.DERNull;
import org.bouncycastle.asn1.DERSet;
import org.bouncycastle.asn1.cms.Attribute;
import org.bouncycastle.asn1.cms.AttributeTable;
import org.bouncycastle.asn1.cms.CMSAttributes;
import org.bouncycastle.asn1.cms.CMSObjectIdentifiers;
import org.bouncycastle.asn1.cms.ContentInfo;
import org.bouncycastle.asn1.cms.Time;
import org.bouncycastle.asn1.nist.NISTObjectIdentifiers;
import org.bouncycastle.asn1.oiw.OIWObjectIdentifiers;
import org.bouncycastle.asn1.pkcs.PKCSObjectIdentifiers;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.asn1.pkcs.RSAESOAEPparams;
import org.bouncycastle.asn1.x509.AlgorithmIdentifier;
import org.bouncycastle.cms.*;
import org.bouncycastle.cms.jcajce.*;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.bouncycastle.operator.OutputAEADEncryptor;
import org.bouncycastle.operator.OutputEncryptor;

/**
 * The other side of exchange_encrypted_test.go. Each line of the file "cases" is
 * "decrypt FILE KEY", "inflate FILE", "encrypt FILE OPTIONS CIPHER TRANSPORT CERTIFICATE..."
 * or "deflate FILE OPTIONS"; what came of it goes to FILE.verdict or, where more than
 * one may open a file, FILE.KEY.verdict: "yes" or why not.
 */
public class BouncyEncrypted {
    static Path dir;
    static byte[] content;

    static byte[] read(String name) throws Exception {
        return Files.readAllBytes(dir.resolve(name));
    }

    static X509Certificate certificate(String name) throws Exception {
        return (X509Certificate) CertificateFactory.getInstance("X.509")
            .generateCertificate(new ByteArrayInputStream(read(name + ".crt")));
    }

    public static void main(String[] args) throws Exception {
        Security.addProvider(new BouncyCastleProvider());
        dir = Path.of(args[0]);
        content = read("content");
        for (String line : Files.readAllLines(dir.resolve("cases"))) {
            String[] words = line.split(" ");
            String verdict = "yes";
            String name = words[1];
            try {
                switch (words[0]) {
                    case "decrypt":
                        name = words[1] + "." + words[2];
                        same(decrypt(words[1], words[2]));
                        break;
                    case "inflate":
                        same(new CMSCompressedData(read(words[1])).getContent(new ZlibExpanderProvider()));
                        break;
                    case "encrypt":
                        encrypt(words[1], Arrays.asList(words[2].split(",")), words[3], words[4],
                            Arrays.asList(words).subList(5, words.length));
                        break;
                    default:
                        deflate(words[1], words[2]);
                }
            } catch (Exception e) {
                verdict = e.toString();
            }
            Files.writeString(dir.resolve(name + ".verdict"), verdict);
        }
    }

    static void same(byte[] got) throws Exception {
        if (!Arrays.equals(got, content)) {
            throw new Exception("other content came out");
        }
    }

    static byte[] decrypt(String name, String keyName) throws Exception {
        byte[] message = read(name);
        X509Certificate certificate = certificate(keyName);
        PrivateKey key = BouncyCastleProvider.getPrivateKey(PrivateKeyInfo.getInstance(read(keyName + ".key")));
        boolean authenticated = ContentInfo.getInstance(message).getContentType().equals(CMSObjectIdentifiers.authEnvelopedData);
        RecipientInformationStore store = authenticated
            ? new CMSAuthEnvelopedData(message).getRecipientInfos() : new CMSEnvelopedData(message).getRecipientInfos();
        boolean agree = certificate.getPublicKey() instanceof ECPublicKey;
        RecipientId id = agree ? new JceKeyAgreeRecipientId(certificate) : new JceKeyTransRecipientId(certificate);
        Collection<RecipientInformation> ours = store.getRecipients(id);
        if (ours.isEmpty()) {
            byte[] extension = certificate.getExtensionValue("2.5.29.14");
            byte[] keyId = Arrays.copyOfRange(extension, 4, extension.length);
            ours = store.getRecipients(agree ? new KeyAgreeRecipientId(keyId) : new KeyTransRecipientId(keyId));
        }
        if (ours.isEmpty()) {
            throw new Exception("no recipient is " + keyName);
        }
        Recipient recipient;
        if (agree) {
            recipient = new JceKeyAgreeEnvelopedRecipient(key).setProvider("BC");
        } else if (authenticated) {
            recipient = new JceKeyTransAuthEnvelopedRecipient(key).setProvider("BC");
        } else {
            recipient = new JceKeyTransEnvelopedRecipient(key).setProvider("BC");
        }
        return ours.iterator().next().getContent(recipient);
    }

    static ASN1ObjectIdentifier cipher(String name) {
        switch (name) {
            case "3des": return CMSAlgorithm.DES_EDE3_CBC;
            case "aes128-cbc": return CMSAlgorithm.AES128_CBC;
            case "aes192-cbc": return CMSAlgorithm.AES192_CBC;
            case "aes256-cbc": return CMSAlgorithm.AES256_CBC;
            case "aes128-gcm": return CMSAlgorithm.AES128_GCM;
            case "aes192-gcm": return CMSAlgorithm.AES192_GCM;
            default: return CMSAlgorithm.AES256_GCM;
        }
    }

    static AlgorithmIdentifier hash(String name) {
        switch (name) {
            case "SHA-1": return new AlgorithmIdentifier(OIWObjectIdentifiers.idSHA1, DERNull.INSTANCE);
            case "SHA-256": return new AlgorithmIdentifier(NISTObjectIdentifiers.id_sha256, DERNull.INSTANCE);
            case "SHA-384": return new AlgorithmIdentifier(NISTObjectIdentifiers.id_sha384, DERNull.INSTANCE);
            default: return new AlgorithmIdentifier(NISTObjectIdentifiers.id_sha512, DERNull.INSTANCE);
        }
    }

    /** TRANSPORT is pkcs1 or HASH/HASH of RSAES-OAEP, and the key derivation for elliptic curves. */
    static RecipientInfoGenerator recipient(String name, String cipher, String transport, List<String> options) throws Exception {
        X509Certificate certificate = certificate(name);
        byte[] extension = certificate.getExtensionValue("2.5.29.14");
        byte[] keyId = Arrays.copyOfRange(extension, 4, extension.length);
        boolean byKey = options.contains("keyid");
        if (certificate.getPublicKey() instanceof ECPublicKey) {
            ECPublicKey key = (ECPublicKey) certificate.getPublicKey();
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC", "BC");
            generator.initialize(key.getParams());
            KeyPair pair = generator.generateKeyPair();
            int bits = key.getParams().getCurve().getField().getFieldSize();
            boolean cofactor = options.contains("cofactor");
            ASN1ObjectIdentifier scheme = cofactor ? CMSAlgorithm.ECCDH_SHA512KDF : CMSAlgorithm.ECDH_SHA512KDF;
            if (options.contains("sha1kdf")) {
                scheme = CMSAlgorithm.ECDH_SHA1KDF;
            } else if (bits == 256) {
                scheme = cofactor ? CMSAlgorithm.ECCDH_SHA256KDF : CMSAlgorithm.ECDH_SHA256KDF;
            } else if (bits == 384) {
                scheme = cofactor ? CMSAlgorithm.ECCDH_SHA384KDF : CMSAlgorithm.ECDH_SHA384KDF;
            }
            ASN1ObjectIdentifier wrap = CMSAlgorithm.AES192_WRAP;
            if (cipher.startsWith("aes128")) {
                wrap = CMSAlgorithm.AES128_WRAP;
            } else if (cipher.startsWith("aes256")) {
                wrap = CMSAlgorithm.AES256_WRAP;
            }
            JceKeyAgreeRecipientInfoGenerator info =
                new JceKeyAgreeRecipientInfoGenerator(scheme, pair.getPrivate(), pair.getPublic(), wrap).setProvider("BC");
            if (options.contains("ukm")) {
                info.setUserKeyingMaterial(new byte[] {1, 2, 3, 4, 5, 6, 7, 8});
            }
            return byKey ? info.addRecipient(keyId, key) : info.addRecipient(certificate);
        }
        if (transport.equals("pkcs1")) {
            return (byKey ? new JceKeyTransRecipientInfoGenerator(keyId, certificate.getPublicKey())
                : new JceKeyTransRecipientInfoGenerator(certificate)).setProvider("BC");
        }
        String[] hashes = transport.split("/");
        AlgorithmIdentifier oaep = new AlgorithmIdentifier(PKCSObjectIdentifiers.id_RSAES_OAEP, new RSAESOAEPparams(
            hash(hashes[0]), new AlgorithmIdentifier(PKCSObjectIdentifiers.id_mgf1, hash(hashes[1])), RSAESOAEPparams.DEFAULT_P_SOURCE_ALGORITHM));
        return (byKey ? new JceKeyTransRecipientInfoGenerator(keyId, oaep, certificate.getPublicKey())
            : new JceKeyTransRecipientInfoGenerator(certificate, oaep)).setProvider("BC");
    }

    static void encrypt(String name, List<String> options, String cipher, String transport, List<String> certificates) throws Exception {
        OutputEncryptor encryptor = new JceCMSContentEncryptorBuilder(cipher(cipher)).setProvider("BC").build();
        CMSEnvelopedGenerator generator = new CMSEnvelopedDataGenerator();
        if (cipher.endsWith("gcm") && !options.contains("enveloped")) {
            CMSAuthEnvelopedDataGenerator authenticated = new CMSAuthEnvelopedDataGenerator();
            if (options.contains("attributes")) {
                ASN1EncodableVector attributes = new ASN1EncodableVector();
                attributes.add(new Attribute(CMSAttributes.signingTime, new DERSet(new Time(new Date()))));
                attributes.add(new Attribute(CMSAttributes.contentType, new DERSet(CMSObjectIdentifiers.data)));
                authenticated.setAuthenticatedAttributeGenerator(new SimpleAttributeTableGenerator(new AttributeTable(attributes)));
            }
            generator = authenticated;
        } else if (options.contains("stream")) {
            generator = new CMSEnvelopedDataStreamGenerator();
        }
        for (String certificate : certificates) {
            generator.addRecipientInfoGenerator(recipient(certificate, cipher, transport, options));
        }
        CMSProcessableByteArray data = new CMSProcessableByteArray(content);
        ContentInfo message;
        if (generator instanceof CMSAuthEnvelopedDataGenerator) {
            message = ((CMSAuthEnvelopedDataGenerator) generator).generate(data, (OutputAEADEncryptor) encryptor).toASN1Structure();
        } else if (generator instanceof CMSEnvelopedDataStreamGenerator) {
            try (OutputStream out = new FileOutputStream(dir.resolve(name).toFile());
                 OutputStream in = ((CMSEnvelopedDataStreamGenerator) generator).open(out, encryptor)) {
                in.write(content);
            }
            return;
        } else {
            message = ((CMSEnvelopedDataGenerator) generator).generate(data, encryptor).toASN1Structure();
        }
        Files.write(dir.resolve(name), message.getEncoded(options.contains("stream") ? "BER" : "DER"));
    }

    static void deflate(String name, String options) throws Exception {
        if (options.equals("stream")) {
            try (OutputStream out = new FileOutputStream(dir.resolve(name).toFile());
                 OutputStream in = new CMSCompressedDataStreamGenerator().open(out, new ZlibCompressor())) {
                in.write(content);
            }
            return;
        }
        Files.write(dir.resolve(name), new CMSCompressedDataGenerator()
            .generate(new CMSProcessableByteArray(content), new ZlibCompressor()).toASN1Structure().getEncoded("DER"));
    }
}
