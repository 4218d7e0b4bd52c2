// Driver runs phase4 as an AS4 partner for the tests in this folder: a receiver
// and a sender in one JVM. It reads commands as lines of JSON and answers each
// with one line (see ../README.md). What it knows of AS4 is only which switch of
// the library stands for what.

import com.helger.phase4.incoming.AS4ServerInitializer;
import com.helger.web.scope.mgr.WebScopeManager;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.ServletContextEvent;
import jakarta.servlet.ServletContextListener;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Security;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

class Driver {
  static Driver only; // the servlet is made by its class, and must find us

  Path folder;
  Keys keys;
  final Map<String, Agreement> agreements = new ConcurrentHashMap<>(); // by profile
  final AtomicInteger arrivals = new AtomicInteger();
  final Board received = new Board(), receipts = new Board(), sent = new Board(); // by MessageId
  volatile String lastError = "";

  public static void main(String[] args) throws Exception {
    System.setProperty("phase4.manager.inmemory", "true");
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "warn");
    Security.insertProviderAt(new BouncyCastleProvider(), 1);
    only = new Driver();
    Commands.serve(only::perform);
  }

  void perform(String op, Map<String, Object> c, Map<String, Object> answer) throws Exception {
    switch (op) {
      case "start": start(c); break;
      case "send": new Sender(agreement(c)).send(c, answer); break;
      case "load": new Load(new Sender(agreement(c))).send(c, answer); break;
      case "hold": new Sender(agreement(c)).hold(c, answer); break;
      case "pull": new Puller(this, agreement(c)).pull(c, answer); break;
      case "verify": new Santuario(keys).verify(c, answer); break;
      case "open": new Santuario(keys).open(c, answer); break;
      case "received": answer.putAll(awaited(received, c, "document")); break;
      case "receipt": answer.putAll(awaited(receipts, c, "receipt")); break;
      default: throw new IllegalArgumentException("unknown op " + op);
    }
  }

  Agreement agreement(Map<String, Object> c) throws Exception {
    return new Agreement(keys, Json.map(c.get("terms")));
  }

  void start(Map<String, Object> c) throws Exception {
    Map<String, Object> material = Json.map(c.get("material"));
    folder = Files.createDirectories(Path.of(Json.text(material, "dir"), "driver"));
    keys = new Keys(material);
    listen(Json.text(c, "listen"));
    for (Map<String, Object> terms : Json.maps(c, "profiles")) {
      agreements.put(Json.text(terms, "profile"), new Agreement(keys, terms));
    }
  }

  /** Starts the server. The library's scopes must be there before anything else of it is used. */
  void listen(String address) throws Exception {
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost(address.substring(0, address.indexOf(':')));
    connector.setPort(Integer.parseInt(address.substring(address.indexOf(':') + 1)));
    server.addConnector(connector);
    ServletContextHandler context = new ServletContextHandler("/");
    CountDownLatch ready = new CountDownLatch(1);
    context.addEventListener(new ServletContextListener() {
      @Override public void contextInitialized(ServletContextEvent e) {
        WebScopeManager.onGlobalBegin(e.getServletContext());
        AS4ServerInitializer.initAS4Server();
        ready.countDown();
      }
    });
    context.addServlet(Receiver.class, "/as4/*");
    context.addFilter(Receipts.class, "/as4/*", EnumSet.of(DispatcherType.REQUEST));
    server.setHandler(context);
    server.start();
    ready.await();
  }

  /** What came under a MessageId. */
  Map<String, Object> awaited(Board board, Map<String, Object> c, String what) throws InterruptedException {
    String id = Json.text(c, "message_id");
    Map<String, Object> facts = board.await(id, Json.number(c, "wait"));
    if (facts == null) throw new IllegalStateException("no " + what + " of " + id + " has come; last error: " + lastError);
    return new LinkedHashMap<>(facts);
  }

  /** A file for content that arrived. */
  Path newFile() { return folder.resolve("document-" + arrivals.incrementAndGet()); }

  static Map<String, Object> entry(String key, Object value) {
    Map<String, Object> m = new HashMap<>();
    m.put(key, value);
    return m;
  }
}
