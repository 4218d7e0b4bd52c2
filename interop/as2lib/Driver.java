// Driver runs phax as2-lib as an AS2 partner for the tests in this folder: one
// receiver, one receiver of asynchronous MDNs, and a sender, in one JVM. It reads
// commands as lines of JSON and answers each with one line (see ../README.md). What
// it knows of AS2 is only which switch of the library stands for what.

import com.helger.as2lib.cert.PredefinedCertificateFactory;
import com.helger.as2lib.disposition.DispositionType;
import com.helger.as2lib.exception.AS2Exception;
import com.helger.as2lib.message.AS2Message;
import com.helger.as2lib.message.AS2MessageMDN;
import com.helger.as2lib.message.IMessage;
import com.helger.as2lib.partner.Partnership;
import com.helger.as2lib.partner.SelfFillingPartnershipFactory;
import com.helger.as2lib.processor.DefaultMessageProcessor;
import com.helger.as2lib.processor.IMessageProcessor;
import com.helger.as2lib.processor.module.AbstractProcessorModule;
import com.helger.as2lib.processor.receiver.AS2MDNReceiverModule;
import com.helger.as2lib.processor.receiver.AS2ReceiverModule;
import com.helger.as2lib.processor.receiver.AbstractActiveNetModule;
import com.helger.as2lib.processor.receiver.net.AS2MDNReceiverHandler;
import com.helger.as2lib.processor.receiver.net.AS2ReceiverHandler;
import com.helger.as2lib.processor.sender.AsynchMDNSenderModule;
import com.helger.as2lib.processor.storage.IProcessorStorageModule;
import com.helger.as2lib.session.AS2Session;
import com.helger.as2lib.util.http.IAS2HttpResponseHandler;
import com.helger.commons.collection.attr.StringMap;
import com.helger.commons.state.ESuccess;
import jakarta.mail.MessagingException;
import jakarta.mail.internet.ContentDisposition;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;

class Driver {
  static final String US = "us", PARTNER = "partner"; // entries of the key store
  static final String PASSWORD = "interop-test"; // of the key store, which lives in memory

  final String receiptAddress; // host:port for asynchronous MDNs: the library has a module of its own for them
  Path folder;
  String url; // where we send to
  PredefinedCertificateFactory certificates;
  final Set<String> ourNames = new TreeSet<>(), theirNames = new TreeSet<>();

  final AtomicInteger arrivals = new AtomicInteger();
  final Board received = new Board(), answered = new Board(), receipts = new Board(); // by Message-ID
  volatile String lastError = "";

  Driver(String receiptAddress) { this.receiptAddress = receiptAddress; }

  public static void main(String[] args) throws Exception {
    Driver driver = new Driver(args[0]);
    Commands.serve(driver::perform);
  }

  void perform(String op, Map<String, Object> c, Map<String, Object> answer) throws Exception {
    switch (op) {
      case "start": start(c); break;
      case "send": new Sender(this).send(c, answer); break;
      case "load": new Sender(this).load(c, answer); break;
      case "received": answer.putAll(arrival(c)); break;
      default: throw new IllegalArgumentException("unknown op " + op);
    }
  }

  void start(Map<String, Object> c) throws Exception {
    Map<String, Object> material = Json.map(c.get("material"));
    folder = Files.createDirectories(Path.of(Json.text(material, "dir"), "driver"));
    url = Json.text(material, "url");
    for (Object terms : (List<?>) c.get("profiles")) {
      ourNames.add(Json.text(Json.map(terms), "peer"));
      theirNames.add(Json.text(Json.map(terms), "edigw"));
    }
    AS2Session session = new AS2Session();
    pin(session);
    // One for all messages: the library else opens a PKCS #12 for each, which takes longer than the message.
    certificates = new PredefinedCertificateFactory(keyStore(material));
    certificates.initDynamicComponent(session, new StringMap());
    certificates.setPassword(PASSWORD);
    session.setCertificateFactory(certificates);
    session.setPartnershipFactory(new Names());
    DefaultMessageProcessor processor = new DefaultMessageProcessor();
    keepPending(processor);
    session.setMessageProcessor(processor);
    AsynchMDNSenderModule answering = new AsynchMDNSenderModule();
    answering.initDynamicComponent(session, new StringMap());
    processor.addModule(answering);
    processor.addModule(new Keeper());
    listen(session, processor, new Receiver(), Json.text(c, "listen"));
    listen(session, processor, new MdnReceiver(), receiptAddress);
  }

  /** Our key and both certificates. Java does not see the certificate without a key in a PKCS #12 of openssl. */
  static KeyStore keyStore(Map<String, Object> material) throws Exception {
    X509Certificate ours = certificate(Json.text(material, "cert"));
    String pem = Files.readString(Path.of(Json.text(material, "key"))).replaceAll("-----[^-]*-----|\\s", "");
    PrivateKey key = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    store.setKeyEntry(US, key, PASSWORD.toCharArray(), new Certificate[] {ours});
    store.setCertificateEntry(PARTNER, certificate(Json.text(material, "edigw")));
    return store;
  }

  static X509Certificate certificate(String file) throws Exception {
    try (InputStream in = Files.newInputStream(Path.of(file))) {
      return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
    }
  }

  static void listen(AS2Session session, DefaultMessageProcessor processor, AbstractActiveNetModule module, String address)
      throws Exception {
    String host = address.substring(0, address.indexOf(':'));
    int port = Integer.parseInt(address.substring(address.indexOf(':') + 1));
    StringMap settings = new StringMap();
    settings.add(AbstractActiveNetModule.ATTR_ADDRESS, host);
    settings.add(AbstractActiveNetModule.ATTR_PORT, port);
    module.initDynamicComponent(session, settings);
    processor.addModule(module);
    module.start();
    // A thread of the module binds. A connection without a request is one line of its log.
    for (long end = System.currentTimeMillis() + 10_000; ; Thread.yield()) {
      try {
        new Socket(host, port).close();
        return;
      } catch (IOException e) {
        if (System.currentTimeMillis() > end) throw e;
      }
    }
  }

  /** Only the certificates that both sides agreed on count, not the one that a message brings along. */
  static void pin(AS2Session session) {
    session.setCryptoVerifyUseCertificateInBodyPart(false);
  }

  /** Where the library keeps the MICs of messages whose receipt comes by itself. */
  void keepPending(IMessageProcessor processor) {
    processor.setPendingMDNFolder(folder.resolve("pending").toString());
    processor.setPendingMDNInfoFolder(folder.resolve("pending-info").toString());
  }

  /** What came under a Message-ID, and was answered. */
  Map<String, Object> arrival(Map<String, Object> c) throws InterruptedException {
    String id = Json.text(c, "message_id");
    int wait = Json.number(c, "wait");
    Map<String, Object> facts = received.await(id, wait);
    if (facts == null) throw new IllegalStateException("no document of " + id + " has come; last error: " + lastError);
    Map<String, Object> all = new HashMap<>(facts);
    if (!Json.text(Json.map(c.get("terms")), "mdn").equals("none")) {
      Map<String, Object> mdn = answered.await(id, wait);
      if (mdn == null) throw new IllegalStateException("no receipt was made for " + id + "; last error: " + lastError);
      all.putAll(mdn);
    }
    return all;
  }

  /** Names gives each known AS2 name its entry in the key store; an unknown one has none. */
  class Names extends SelfFillingPartnershipFactory {
    @Override protected void onBeforeAddPartnership(Partnership p) throws AS2Exception {
      p.setSenderX509Alias(entry(p.getSenderAS2ID()));
      p.setReceiverX509Alias(entry(p.getReceiverAS2ID()));
      super.onBeforeAddPartnership(p);
    }

    String entry(String header) {
      String name = header.replaceAll("^\"|\"$", ""); // the library leaves the quotes on a name with blanks
      return ourNames.contains(name) ? US : theirNames.contains(name) ? PARTNER : "stranger";
    }
  }

  /** Keeper stores each document as a file and remembers under which Message-ID. */
  class Keeper extends AbstractProcessorModule implements IProcessorStorageModule {
    @Override public boolean canHandle(String action, IMessage message, Map<String, Object> options) {
      return action.equals(DO_STORE);
    }

    @Override public void handle(String action, IMessage message, Map<String, Object> options) throws AS2Exception {
      Path file = folder.resolve("document-" + arrivals.incrementAndGet());
      Map<String, Object> facts = new HashMap<>();
      try (InputStream in = message.getData().getInputStream()) {
        Files.copy(in, file);
        facts.put("file_name", fileName(message));
      } catch (Exception e) {
        throw new AS2Exception("cannot keep the document", e);
      }
      facts.put("file", file.toString());
      received.put(message.getMessageID(), facts);
    }
  }

  /** The name in the part that was signed, else in the header of the HTTP request, which is that of a plain message. */
  static String fileName(IMessage message) throws MessagingException {
    String name = message.getData().getFileName();
    if (name == null && message.getContentDisposition() != null) {
      name = new ContentDisposition(message.getContentDisposition()).getParameter("filename");
    }
    return name;
  }

  /** Receiver is the library's, and remembers what it answered and what it complained about. */
  class Receiver extends AS2ReceiverModule {
    @Override public AS2ReceiverHandler createHandler() {
      return new AS2ReceiverHandler(this) {
        @Override protected void sendMDN(String client, IAS2HttpResponseHandler to, AS2Message message,
            DispositionType disposition, String text, ESuccess success) {
          super.sendMDN(client, to, message, disposition, text, success);
          if (message.getMDN() != null) {
            Map<String, Object> facts = new HashMap<>();
            facts.put("mic", message.getMDN().attrs().getAsString(AS2MessageMDN.MDNA_MIC));
            answered.put(message.getMessageID(), facts);
          }
        }
      };
    }

    @Override public void handleError(IMessage message, AS2Exception e) {
      lastError = String.valueOf(e);
      super.handleError(message, e);
    }
  }

  /** MdnReceiver is the library's for asynchronous MDNs, and tells what came. */
  class MdnReceiver extends AS2MDNReceiverModule {
    @Override public AS2MDNReceiverHandler createHandler() {
      AS2MDNReceiverHandler handler = super.createHandler();
      handler.setIncomingMDNCallback((sync, mdn, from, to, disposition, mic, id, signed, equal) ->
          receipts.put(id, Sender.facts(mdn, signed)));
      return handler;
    }

    @Override public void handleError(IMessage message, AS2Exception e) {
      lastError = String.valueOf(e);
      super.handleError(message, e);
    }
  }
}
