import com.helger.base.state.ETriState;
import com.helger.phase4.CAS4;
import com.helger.phase4.crypto.AS4CryptParams;
import com.helger.phase4.crypto.AS4SigningParams;
import com.helger.phase4.crypto.ECryptoAlgorithmCrypt;
import com.helger.phase4.crypto.ECryptoAlgorithmSign;
import com.helger.phase4.crypto.ECryptoAlgorithmSignDigest;
import com.helger.phase4.crypto.ECryptoKeyDerivationMethod;
import com.helger.phase4.crypto.ECryptoKeyEncryptionAlgorithm;
import com.helger.phase4.crypto.ECryptoKeyIdentifierType;
import com.helger.phase4.crypto.IAS4CryptoFactory;
import com.helger.phase4.crypto.ICryptoSessionKeyProvider;
import com.helger.phase4.model.EMEP;
import com.helger.phase4.model.EMEPBinding;
import com.helger.phase4.model.ESoapVersion;
import com.helger.phase4.model.pmode.IPMode;
import com.helger.phase4.model.pmode.PMode;
import com.helger.phase4.model.pmode.PModeParty;
import com.helger.phase4.model.pmode.leg.EPModeSendReceiptReplyPattern;
import com.helger.phase4.model.pmode.leg.PModeLeg;
import com.helger.phase4.model.pmode.leg.PModeLegBusinessInformation;
import com.helger.phase4.model.pmode.leg.PModeLegProtocol;
import com.helger.phase4.model.pmode.leg.PModeLegSecurity;
import com.helger.phase4.model.pmode.resolve.IAS4PModeResolver;
import com.helger.phase4.wss.EWSSVersion;
import java.util.Map;
import org.apache.wss4j.common.WSS4JConstants;
import org.bouncycastle.jce.provider.BouncyCastleProvider;

/** Agreement is the terms of a profile in the words of the library. */
class Agreement {
  final Map<String, Object> terms;
  final Keys keys;
  final IAS4CryptoFactory sign, crypt;

  Agreement(Keys keys, Map<String, Object> terms) throws Exception {
    this.keys = keys;
    this.terms = terms;
    sign = keys.factory(text("sign_key"), text("edigw_sign"));
    crypt = keys.factory(text("crypt_key"), text("crypt_key"));
  }

  String text(String key) { return Json.text(terms, key); }

  boolean flag(String key) { return Json.flag(terms, key); }

  boolean signed() { return !text("sign").equals("none"); }

  boolean encrypted() { return !text("encrypt").equals("none"); }

  /** The P-Mode for a service and an action; those of the test service make it one for pings. */
  IPMode pmode(String service, String action) {
    boolean ping = CAS4.DEFAULT_SERVICE_URL.equals(service) && CAS4.DEFAULT_ACTION_URL.equals(action);
    PModeLeg leg = new PModeLeg(new PModeLegProtocol(null, ESoapVersion.SOAP_12), new PModeLegBusinessInformation(
        ping ? CAS4.DEFAULT_SERVICE_URL : text("service"), ping ? null : none(text("service_type")),
        ping ? CAS4.DEFAULT_ACTION_URL : text("action"), null, null, null, none(text("mpc"))), null, null, security());
    return new PMode(text("profile"),
        new PModeParty(none(text("edigw_type")), text("edigw"), CAS4.DEFAULT_INITIATOR_URL, null, null),
        new PModeParty(none(text("peer_type")), text("peer"), CAS4.DEFAULT_RESPONDER_URL, null, null),
        text("agreement"), EMEP.ONE_WAY, EMEPBinding.PUSH, leg, null, null, null);
  }

  IAS4PModeResolver resolver() { return (id, service, action, initiator, responder, agreement, address) -> pmode(service, action); }

  private PModeLegSecurity security() {
    PModeLegSecurity s = new PModeLegSecurity();
    s.setWSSVersion(EWSSVersion.WSS_111);
    if (signed()) {
      s.setX509SignatureAlgorithm(algorithm());
      s.setX509SignatureHashFunction(digest());
    }
    if (encrypted()) s.setX509EncryptionAlgorithm(ECryptoAlgorithmCrypt.getFromIDOrThrow(text("encrypt")));
    s.setSendReceipt(!text("receipt").equals("none"));
    s.setSendReceiptReplyPattern(text("receipt").equals("async") ? EPModeSendReceiptReplyPattern.CALLBACK : EPModeSendReceiptReplyPattern.RESPONSE);
    s.setSendReceiptNonRepudiation(ETriState.valueOf(signed()));
    return s;
  }

  /** It writes the digest's name and the hash's apart, as in rsa-sha-256. */
  private ECryptoAlgorithmSign algorithm() {
    String name = text("sign");
    return ECryptoAlgorithmSign.getFromIDOrThrow(name.equals("ed25519") ? "eddsa-ed25519" : name.replace("-sha", "-sha-"));
  }

  private ECryptoAlgorithmSignDigest digest() {
    return ECryptoAlgorithmSignDigest.getFromIDOrThrow(text("digest").replace("sha", "sha-"));
  }

  AS4SigningParams signing() {
    AS4SigningParams p = new AS4SigningParams();
    if (signed()) {
      p.setAlgorithmSign(algorithm()).setAlgorithmSignDigest(digest()).setKeyIdentifierType(token(text("token")));
      p.setUseSingleCertificate(!text("token").equals("pkipath"));
    }
    if (Keys.foreign(text("sign_key"))) p.setSecurityProvider(new BouncyCastleProvider());
    return p;
  }

  /** How we encrypt to one of edigw's certificates. */
  AS4CryptParams crypting(String recipient) throws Exception {
    AS4CryptParams p = new AS4CryptParams();
    if (Keys.foreign(text("crypt_key"))) p.setSecurityProvider(new BouncyCastleProvider());
    if (!encrypted()) return p;
    p.setAlgorithmCrypt(ECryptoAlgorithmCrypt.getFromIDOrThrow(text("encrypt")));
    if (text("encrypt").startsWith("aes256")) p.setSessionKeyProvider(ICryptoSessionKeyProvider.INSTANCE_RANDOM_AES_256);
    p.setKeyIdentifierType(token(text("encrypt_token")));
    p.setCertificate(keys.edigw(recipient));
    switch (text("key_transport")) {
      case "rsa-oaep-mgf1-sha256": break;
      case "rsa-oaep-mgf1-sha1": p.setMGFAlgorithm(WSS4JConstants.MGF_SHA1); break;
      case "rsa-oaep-mgf1p":
        p.setKeyEncAlgorithm(ECryptoKeyEncryptionAlgorithm.RSA_OAEP).setMGFAlgorithm(WSS4JConstants.MGF_SHA1).setDigestAlgorithm(WSS4JConstants.SHA1);
        break;
      case "x25519": p.setEDelivery2KeyAgreementX25519(); break;
      case "ecdh-es":
        p.setEDelivery2KeyAgreementECDHES();
        if (text("derivation").equals("concat")) p.setKeyDerivationMethod(ECryptoKeyDerivationMethod.CONCAT_KDF);
        break;
      default: throw new IllegalArgumentException("no key transport " + text("key_transport"));
    }
    return p;
  }

  private static ECryptoKeyIdentifierType token(String name) {
    switch (name) {
      case "bst": case "pkipath": case "pkcs7": return ECryptoKeyIdentifierType.BST_DIRECT_REFERENCE;
      case "ski": return ECryptoKeyIdentifierType.SKI_KEY_IDENTIFIER;
      case "issuer-serial": return ECryptoKeyIdentifierType.ISSUER_SERIAL;
      case "thumbprint": return ECryptoKeyIdentifierType.THUMBPRINT_IDENTIFIER;
      default: throw new IllegalArgumentException("no token " + name);
    }
  }

  static String none(String s) { return s.isEmpty() ? null : s; }
}
