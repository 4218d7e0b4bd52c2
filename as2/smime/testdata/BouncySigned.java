import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.security.Security;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.asn1.x509.SubjectKeyIdentifier;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cms.*;
import org.bouncycastle.cms.jcajce.JcaSimpleSignerInfoVerifierBuilder;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.bouncycastle.operator.ContentSigner;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.bouncycastle.operator.jcajce.JcaDigestCalculatorProviderBuilder;

/**
 * The other side of exchange_signed_test.go. Each line of the file "cases" is
 * "verify FILE [CERTIFICATE...]" or "sign FILE OPTIONS ALGORITHM/KEY... [+CERTIFICATE...]";
 * what came of it goes to FILE.verdict, "yes" or why not.
 */
public class BouncySigned {
    static Path dir;
    static byte[] content;

    static byte[] read(String name) throws Exception {
        return Files.readAllBytes(dir.resolve(name));
    }

    static X509CertificateHolder certificate(String name) throws Exception {
        return new X509CertificateHolder(read(name + ".crt"));
    }

    public static void main(String[] args) throws Exception {
        Security.addProvider(new BouncyCastleProvider());
        dir = Path.of(args[0]);
        content = read("content");
        for (String line : Files.readAllLines(dir.resolve("cases"))) {
            List<String> words = Arrays.asList(line.split(" "));
            String verdict = "yes";
            try {
                if (words.get(0).equals("verify")) {
                    verify(words.get(1), words.subList(2, words.size()));
                } else {
                    sign(words.get(1), Arrays.asList(words.get(2).split(",")), words.subList(3, words.size()));
                }
            } catch (Exception e) {
                verdict = e.toString();
            }
            Files.writeString(dir.resolve(words.get(1) + ".verdict"), verdict);
        }
    }

    static void verify(String name, List<String> certificates) throws Exception {
        List<X509CertificateHolder> given = new ArrayList<>();
        for (String certificate : certificates) {
            given.add(certificate(certificate));
        }
        if (!verifies(content, read(name), given)) {
            throw new Exception("the signature does not verify");
        }
        byte[] other = content.clone();
        other[0] ^= 1;
        boolean fooled = false;
        try {
            fooled = verifies(other, read(name), given);
        } catch (CMSException expected) {
        }
        if (fooled) {
            throw new Exception("the signature verifies over other content");
        }
    }

    static boolean verifies(byte[] content, byte[] message, List<X509CertificateHolder> given) throws Exception {
        CMSSignedData signed = new CMSSignedData(new CMSProcessableByteArray(content), message);
        List<X509CertificateHolder> known = new ArrayList<>(given);
        known.addAll(signed.getCertificates().getMatches(null));
        for (SignerInformation signer : signed.getSignerInfos()) {
            X509CertificateHolder certificate = known.stream().filter(signer.getSID()::match).findFirst()
                .orElseThrow(() -> new Exception("no certificate for the signer"));
            if (!signer.verify(new JcaSimpleSignerInfoVerifierBuilder().setProvider("BC").build(certificate))) {
                return false;
            }
        }
        return signed.getSignerInfos().size() > 0;
    }

    static void sign(String name, List<String> options, List<String> signers) throws Exception {
        CMSSignedGenerator generator = options.contains("stream") ? new CMSSignedDataStreamGenerator() : new CMSSignedDataGenerator();
        for (String signer : signers) {
            if (signer.startsWith("+")) {
                generator.addCertificate(certificate(signer.substring(1)));
                continue;
            }
            String[] parts = signer.split("/");
            generator.addSignerInfoGenerator(signer(parts[0], parts[1], options));
        }
        if (generator instanceof CMSSignedDataStreamGenerator) {
            try (OutputStream out = new FileOutputStream(dir.resolve(name).toFile());
                 OutputStream in = ((CMSSignedDataStreamGenerator) generator).open(out, true)) {
                in.write(content);
            }
            return;
        }
        Files.write(dir.resolve(name), ((CMSSignedDataGenerator) generator)
            .generate(new CMSProcessableByteArray(content), options.contains("opaque")).getEncoded());
    }

    static SignerInfoGenerator signer(String algorithm, String name, List<String> options) throws Exception {
        X509CertificateHolder certificate = certificate(name);
        PrivateKey key = BouncyCastleProvider.getPrivateKey(PrivateKeyInfo.getInstance(read(name + ".key")));
        ContentSigner signer = new JcaContentSignerBuilder(algorithm).setProvider("BC").build(key);
        SignerInfoGeneratorBuilder builder = new SignerInfoGeneratorBuilder(
            new JcaDigestCalculatorProviderBuilder().setProvider("BC").build()).setDirectSignature(options.contains("bare"));
        if (!options.contains("keyid")) {
            return builder.build(signer, certificate);
        }
        SubjectKeyIdentifier id = SubjectKeyIdentifier.fromExtensions(certificate.getExtensions());
        if (id == null) {
            id = new JcaX509ExtensionUtils().createSubjectKeyIdentifier(certificate.getSubjectPublicKeyInfo());
        }
        return builder.build(signer, id.getKeyIdentifier());
    }
}
