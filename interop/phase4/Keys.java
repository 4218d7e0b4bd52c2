import com.helger.phase4.crypto.AS4CryptoFactoryInMemoryKeyStore;
import com.helger.phase4.crypto.ECryptoMode;
import com.helger.phase4.crypto.IAS4CryptoFactory;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Map;
import org.apache.wss4j.common.crypto.Crypto;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.jce.provider.BouncyCastleProvider;

/** Keys are ours, by the name of their kind, and the certificates of edigw by the same names. */
class Keys {
  static final char[] PASSWORD = "interop-test".toCharArray(); // of key stores that live in memory

  private final Map<String, Object> ours, theirs;

  Keys(Map<String, Object> material) {
    ours = Json.map(material.get("keys"));
    theirs = Json.map(material.get("edigw"));
  }

  /** Brainpool curves are not among those of Java itself. */
  static boolean foreign(String name) { return name.equals("brainpool"); }

  X509Certificate edigw(String name) throws Exception { return certificate(Json.text(theirs, name), foreign(name)); }

  X509Certificate own(String name) throws Exception { return certificate(Json.text(Json.map(ours.get(name)), "cert"), foreign(name)); }

  PrivateKey privateKey(String name) throws Exception { return key(Json.text(Json.map(ours.get(name)), "key"), foreign(name)); }

  /** A factory with one key of ours, that trusts one certificate of edigw and no other. */
  IAS4CryptoFactory factory(String own, String edigw) throws Exception {
    boolean foreign = foreign(own);
    KeyStore keys = foreign ? KeyStore.getInstance("BKS", BouncyCastleProvider.PROVIDER_NAME) : KeyStore.getInstance("PKCS12");
    keys.load(null, null);
    keys.setKeyEntry("own", privateKey(own), PASSWORD, new Certificate[] {own(own)});
    KeyStore trust = foreign ? KeyStore.getInstance("BKS", BouncyCastleProvider.PROVIDER_NAME) : KeyStore.getInstance("PKCS12");
    trust.load(null, null);
    trust.setCertificateEntry("edigw", edigw(edigw));
    return new AS4CryptoFactoryInMemoryKeyStore(keys, "own", PASSWORD, trust) {
      @Override public Crypto getCrypto(ECryptoMode mode) {
        Crypto crypto = super.getCrypto(mode);
        if (foreign) crypto.setCryptoProvider(BouncyCastleProvider.PROVIDER_NAME);
        return crypto;
      }
    };
  }

  private static PrivateKey key(String file, boolean foreign) throws Exception {
    byte[] der = Base64.getDecoder().decode(Files.readString(Path.of(file)).replaceAll("-----[^-]*-----|\\s", ""));
    String algorithm = PrivateKeyInfo.getInstance(der).getPrivateKeyAlgorithm().getAlgorithm().getId();
    KeyFactory factory = foreign ? KeyFactory.getInstance("EC", BouncyCastleProvider.PROVIDER_NAME) : KeyFactory.getInstance(switch (algorithm) {
      case "1.2.840.113549.1.1.1" -> "RSA";
      case "1.2.840.10045.2.1" -> "EC";
      case "1.3.101.110" -> "X25519";
      case "1.3.101.112" -> "Ed25519";
      default -> throw new IllegalArgumentException(file + " holds a key of kind " + algorithm);
    });
    return factory.generatePrivate(new PKCS8EncodedKeySpec(der));
  }

  private static X509Certificate certificate(String file, boolean foreign) throws Exception {
    CertificateFactory factory = foreign ? CertificateFactory.getInstance("X.509", BouncyCastleProvider.PROVIDER_NAME) : CertificateFactory.getInstance("X.509");
    try (InputStream in = Files.newInputStream(Path.of(file))) {
      return (X509Certificate) factory.generateCertificate(in);
    }
  }
}
