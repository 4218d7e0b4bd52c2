import java.io.ByteArrayInputStream;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import org.bouncycastle.asn1.ASN1ObjectIdentifier;
import org.bouncycastle.cert.jcajce.JcaX509CertificateHolder;
import org.bouncycastle.cms.*;
import org.bouncycastle.cms.jcajce.*;
import org.bouncycastle.operator.jcajce.JcaDigestCalculatorProviderBuilder;

/**
 * The other side of bouncy_test.go: opens what it finds in a folder with Bouncy
 * Castle, and leaves there what Bouncy Castle makes of the same content.
 */
public class Bouncy {
    static Path dir;

    static byte[] read(String name) throws Exception {
        return Files.readAllBytes(dir.resolve(name));
    }

    static OutputStream create(String name) throws Exception {
        return new FileOutputStream(dir.resolve(name).toFile());
    }

    static void write(String name, byte[] content) throws Exception {
        Files.write(dir.resolve(name), content);
    }

    public static void main(String[] args) throws Exception {
        dir = Path.of(args[0]);
        byte[] content = read("content");
        X509Certificate cert = (X509Certificate) CertificateFactory.getInstance("X.509")
            .generateCertificate(new ByteArrayInputStream(read("cert")));
        PrivateKey key = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(read("key")));

        write("ours.compressed.out", new CMSCompressedData(read("ours.compressed"))
            .getContent(new org.bouncycastle.cms.jcajce.ZlibExpanderProvider()));
        CMSEnvelopedData enveloped = new CMSEnvelopedData(read("ours.encrypted"));
        RecipientInformation recipient = enveloped.getRecipientInfos().get(new JceKeyTransRecipientId(cert));
        write("ours.encrypted.out", recipient.getContent(new JceKeyTransEnvelopedRecipient(key)));
        CMSSignedData signed = new CMSSignedData(new CMSProcessableByteArray(content), read("ours.signed"));
        for (SignerInformation signer : signed.getSignerInfos()) {
            if (!signer.verify(new JcaSimpleSignerInfoVerifierBuilder().build(cert))) {
                throw new Exception("signature does not verify");
            }
        }

        try (OutputStream out = create("theirs.compressed");
             OutputStream in = new CMSCompressedDataStreamGenerator().open(out, new ZlibCompressor())) {
            in.write(content);
        }
        write("theirs.compressed.der", new CMSCompressedDataGenerator()
            .generate(new CMSProcessableByteArray(content), new ZlibCompressor()).toASN1Structure().getEncoded("DER"));
        ASN1ObjectIdentifier[] ciphers = {CMSAlgorithm.DES_EDE3_CBC, CMSAlgorithm.AES128_CBC, CMSAlgorithm.AES192_CBC, CMSAlgorithm.AES256_CBC};
        for (int i = 0; i < ciphers.length; i++) {
            CMSEnvelopedDataStreamGenerator generator = new CMSEnvelopedDataStreamGenerator();
            generator.addRecipientInfoGenerator(i % 2 == 0
                ? new JceKeyTransRecipientInfoGenerator(cert)
                : new JceKeyTransRecipientInfoGenerator(new byte[] {9, 9, 9}, cert.getPublicKey()));
            generator.addRecipientInfoGenerator(new JceKeyTransRecipientInfoGenerator(cert));
            try (OutputStream out = create("theirs.encrypted." + i);
                 OutputStream in = generator.open(out, new JceCMSContentEncryptorBuilder(ciphers[i]).build())) {
                in.write(content);
            }
        }
        for (String digest : new String[] {"SHA1", "SHA256", "SHA384", "SHA512"}) {
            CMSSignedDataGenerator detached = new CMSSignedDataGenerator();
            detached.addSignerInfoGenerator(new JcaSimpleSignerInfoGeneratorBuilder().build(digest + "withRSA", key, cert));
            detached.addCertificate(new JcaX509CertificateHolder(cert));
            write("theirs.signed." + digest, detached.generate(new CMSProcessableByteArray(content), false).getEncoded());
            CMSSignedDataStreamGenerator opaque = new CMSSignedDataStreamGenerator();
            opaque.addSignerInfoGenerator(new JcaSimpleSignerInfoGeneratorBuilder().build(digest + "withRSA", key, cert));
            try (OutputStream out = create("theirs.opaque." + digest); OutputStream in = opaque.open(out, true)) {
                in.write(content);
            }
        }
    }
}
