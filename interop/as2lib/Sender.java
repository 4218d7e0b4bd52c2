import com.helger.as2lib.client.AS2Client;
import com.helger.as2lib.client.AS2ClientRequest;
import com.helger.as2lib.client.AS2ClientResponse;
import com.helger.as2lib.client.AS2ClientSettings;
import com.helger.as2lib.crypto.ECompressionType;
import com.helger.as2lib.crypto.ECryptoAlgorithmCrypt;
import com.helger.as2lib.crypto.ECryptoAlgorithmSign;
import com.helger.as2lib.crypto.MIC;
import com.helger.as2lib.exception.AS2Exception;
import com.helger.as2lib.message.AS2Message;
import com.helger.as2lib.message.AS2MessageMDN;
import com.helger.as2lib.message.IMessageMDN;
import com.helger.as2lib.processor.sender.AS2SenderModule;
import com.helger.as2lib.session.AS2Session;
import com.helger.mail.cte.EContentTransferEncoding;
import jakarta.activation.DataHandler;
import jakarta.activation.FileDataSource;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hc.core5.util.Timeout;

/** Sender sends documents with the library's AS2Client. */
class Sender {
  final Driver driver;

  Sender(Driver driver) { this.driver = driver; }

  void send(Map<String, Object> c, Map<String, Object> answer) throws Exception {
    Map<String, Object> terms = Json.map(c.get("terms"));
    int wait = Json.number(c, "wait");
    Client client = new Client();
    AS2ClientResponse response = client.sendSynchronous(settings(terms, wait), request(Json.map(c.get("document")), terms));
    answer.put("message_id", response.getOriginalMessageID());
    if (client.mic != null) answer.put("mic", client.mic.getAsAS2String());
    if (response.hasException()) answer.put("problem", String.valueOf(response.getException()));
    Map<String, Object> receipt = null;
    if (response.hasMDN()) {
      receipt = facts(response.getMDN(), response.getMDNVerificationCertificate() != null);
    } else if (!response.hasException() && Json.text(terms, "mdn").equals("async")) {
      receipt = driver.receipts.await(response.getOriginalMessageID(), wait);
      if (receipt == null) answer.put("problem", "no asynchronous MDN came; last error: " + driver.lastError);
    }
    if (receipt == null) return;
    answer.putAll(receipt);
    MIC theirs = MIC.parse((String) receipt.get("mic_returned"));
    answer.put("equal", client.mic != null && theirs != null && client.mic.equals(theirs));
  }

  /** What an MDN says. The library refuses one whose signature is not the partner's, so signed is verified. */
  static Map<String, Object> facts(IMessageMDN mdn, boolean signed) {
    Map<String, Object> facts = new HashMap<>();
    String disposition = mdn.attrs().getAsString(AS2MessageMDN.MDNA_DISPOSITION);
    facts.put("disposition", disposition.substring(disposition.indexOf(';') + 1).strip());
    String mic = mdn.attrs().getAsString(AS2MessageMDN.MDNA_MIC);
    facts.put("mic_returned", mic == null ? "" : mic);
    facts.put("signed", signed);
    facts.put("verified", signed);
    return facts;
  }

  AS2ClientSettings settings(Map<String, Object> terms, int wait) {
    AS2ClientSettings s = new AS2ClientSettings();
    s.setSenderData(Json.text(terms, "peer"), "edi@peer.example", Driver.US);
    s.setReceiverData(Json.text(terms, "edigw"), Driver.PARTNER, driver.url);
    s.setPartnershipName(Json.text(terms, "peer"));
    s.setConnectTimeout(Timeout.ofSeconds(wait));
    s.setResponseTimeout(Timeout.ofSeconds(wait));
    s.setRetryCount(0);
    // By itself it puts both names into the Message-ID, blanks too, and tells messages of one second apart by four digits.
    s.setMessageIDFormat("<$rand.UUID$@peer.example>");
    String compress = Json.text(terms, "compress"), sign = Json.text(terms, "sign");
    s.setEncryptAndSign(cipher(Json.text(terms, "encrypt")), signature(sign, Json.text(terms, "signature")));
    // Without a signature "before" means that the MIC is over the compressed part, which nobody else does.
    if (!none(compress)) s.setCompress(ECompressionType.ZLIB, compress.equals("before-sign") && !none(sign));
    String mdn = Json.text(terms, "mdn");
    s.setMDNRequested(!none(mdn));
    // The digest goes by the name that the library has for it: it compares names, too.
    s.setMDNOptions(Json.flag(terms, "mdn_signed")
        ? "signed-receipt-protocol=required, pkcs7-signature; signed-receipt-micalg=required, "
            + signature(Json.text(terms, "mdn_algorithm"), Json.text(terms, "signature")).getID()
        : null);
    if (mdn.equals("async")) s.setAsyncMDNUrl("http://" + driver.receiptAddress + "/mdn");
    return s;
  }

  static AS2ClientRequest request(Map<String, Object> document, Map<String, Object> terms) {
    AS2ClientRequest r = new AS2ClientRequest("interop");
    String type = Json.text(terms, "content_type");
    // From a stream or text the library takes the document through a charset; a handler leaves the bytes alone.
    r.setData(new DataHandler(new FileDataSource(Json.text(document, "file")) {
      @Override public String getContentType() { return type; }
    }));
    r.setContentType(type);
    r.setFilename(Json.text(document, "file_name"));
    r.setContentTransferEncoding(Json.text(terms, "transfer_encoding").equals("base64")
        ? EContentTransferEncoding.BASE64 : EContentTransferEncoding.BINARY);
    return r;
  }

  /** Client shares the certificates and tells the MIC that was computed when the message was built. */
  class Client extends AS2Client {
    MIC mic;

    Client() {
      setAS2SenderModuleFactory(() -> new AS2SenderModule() {
        @Override protected MIC calculateAndStoreMIC(AS2Message message) throws Exception {
          return mic = super.calculateAndStoreMIC(message);
        }
      });
    }

    @Override protected AS2Session createSession() {
      AS2Session session = super.createSession();
      Driver.pin(session);
      return session;
    }

    @Override protected void initCertificateFactory(AS2ClientSettings s, AS2Session session) throws AS2Exception {
      session.setCertificateFactory(driver.certificates);
    }

    @Override protected void initMessageProcessor(AS2Session session) throws AS2Exception {
      super.initMessageProcessor(session);
      driver.keepPending(session.getMessageProcessor());
    }
  }

  /** Sends a document count times from so many threads at once, and tells how long that took. */
  void load(Map<String, Object> c, Map<String, Object> answer) throws Exception {
    int count = Json.number(c, "count"), senders = Json.number(c, "senders");
    AtomicInteger begun = new AtomicInteger(), delivered = new AtomicInteger();
    Thread[] threads = new Thread[senders];
    long begin = System.nanoTime();
    for (int i = 0; i < senders; i++) {
      threads[i] = new Thread(() -> {
        while (begun.getAndIncrement() < count) {
          Map<String, Object> one = new LinkedHashMap<>();
          try {
            send(c, one);
          } catch (Exception e) {
            one.put("problem", String.valueOf(e));
          }
          if (Json.flag(one, "equal") && Json.text(one, "disposition").equals("processed")) delivered.incrementAndGet();
          else driver.lastError = Json.write(one);
        }
      });
      threads[i].start();
    }
    for (Thread t : threads) t.join();
    answer.put("seconds", (System.nanoTime() - begin) / 1e9);
    answer.put("delivered", delivered.get());
    if (delivered.get() != count) answer.put("error", driver.lastError);
  }

  static ECryptoAlgorithmCrypt cipher(String name) {
    switch (name) {
      case "none": return null;
      case "3des": return ECryptoAlgorithmCrypt.CRYPT_3DES;
      case "aes128-cbc": return ECryptoAlgorithmCrypt.CRYPT_AES128_CBC;
      case "aes192-cbc": return ECryptoAlgorithmCrypt.CRYPT_AES192_CBC;
      case "aes256-cbc": return ECryptoAlgorithmCrypt.CRYPT_AES256_CBC;
      case "aes256-gcm": return ECryptoAlgorithmCrypt.CRYPT_AES256_GCM;
      default: throw new IllegalArgumentException("no cipher " + name);
    }
  }

  static ECryptoAlgorithmSign signature(String digest, String scheme) {
    boolean pss = scheme.equals("rsa-pss");
    switch (digest) {
      case "none": return null;
      case "sha1": return ECryptoAlgorithmSign.DIGEST_SHA_1;
      case "sha256": return pss ? ECryptoAlgorithmSign.RSASSA_PSS_WITH_SHA256 : ECryptoAlgorithmSign.DIGEST_SHA_256;
      case "sha384": return pss ? ECryptoAlgorithmSign.RSASSA_PSS_WITH_SHA384 : ECryptoAlgorithmSign.DIGEST_SHA_384;
      case "sha512": return pss ? ECryptoAlgorithmSign.RSASSA_PSS_WITH_SHA512 : ECryptoAlgorithmSign.DIGEST_SHA_512;
      default: throw new IllegalArgumentException("no digest " + digest);
    }
  }

  static boolean none(String s) { return s.isEmpty() || s.equals("none"); }
}
