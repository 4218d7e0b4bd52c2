import com.helger.phase4.attachment.IAS4IncomingAttachmentFactory;
import com.helger.phase4.client.AS4ClientSentMessage;
import com.helger.phase4.incoming.AS4IncomingHandler;
import com.helger.phase4.incoming.AS4IncomingMessageMetadata;
import com.helger.phase4.incoming.AS4IncomingProfileSelectorConstant;
import com.helger.phase4.incoming.AS4IncomingReceiverConfiguration;
import com.helger.phase4.incoming.crypto.AS4IncomingSecurityConfiguration;
import com.helger.phase4.sender.IAS4SignalMessageValidationResultHandler;
import com.helger.phase4.sender.ValidatingAS4SignalMsgConsumer;
import com.helger.phase4.util.AS4ResourceHelper;
import jakarta.servlet.Filter;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletException;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hc.core5.http.message.BasicHttpResponse;

/**
 * Receipts takes those that come by themselves. The library's servlet finds no P-Mode for a signal; its parser of responses takes that of
 * the message, verifies signature and digests, and does the same here.
 */
public class Receipts implements Filter {
  private static final Pattern REF = Pattern.compile("RefToMessageId>([^<]+)<");

  @Override public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain) throws IOException, ServletException {
    HttpServletRequest in = (HttpServletRequest) request;
    String path = in.getRequestURI(), type = String.valueOf(in.getContentType());
    Agreement agreed = Driver.only.agreements.get(path.substring(path.lastIndexOf('/') + 1));
    if (agreed == null || !agreed.flag("takes_receipts") || !type.startsWith("application/soap+xml")) {
      chain.doFilter(request, response);
      return;
    }
    byte[] body = in.getInputStream().readAllBytes();
    String text = new String(body, StandardCharsets.UTF_8);
    Matcher ref = REF.matcher(text);
    if (!text.contains("NonRepudiationInformation") || !ref.find()) {
      chain.doFilter(new Again(in, body), response);
      return;
    }
    int status = HttpServletResponse.SC_NO_CONTENT;
    try {
      Driver.only.receipts.put(ref.group(1), read(agreed, ref.group(1), type, body));
    } catch (Exception e) {
      Driver.only.lastError = "the receipt for " + ref.group(1) + ": " + e;
      status = HttpServletResponse.SC_BAD_REQUEST;
    }
    ((HttpServletResponse) response).setStatus(status);
  }

  /** What the library makes of a receipt for a message that it built. */
  private static Map<String, Object> read(Agreement agreed, String id, String type, byte[] body) throws Exception {
    Map<String, Object> facts = new HashMap<>(), entry = Driver.only.sent.await(id, 10);
    if (entry == null) throw new IllegalStateException("nothing was sent as " + id);
    ValidatingAS4SignalMsgConsumer compare = new ValidatingAS4SignalMsgConsumer((AS4ClientSentMessage<?>) entry.get("message"),
        (signal, metadata, state) -> Sender.read(agreed, signal, state, facts), new Compared(facts));
    BasicHttpResponse like = new BasicHttpResponse(200);
    like.addHeader("Content-Type", type);
    try (AS4ResourceHelper resources = new AS4ResourceHelper()) {
      AS4IncomingHandler.parseSignalMessage(agreed.sign, agreed.crypt, agreed.resolver(), IAS4IncomingAttachmentFactory.DEFAULT_INSTANCE,
          new AS4IncomingProfileSelectorConstant(null, false), resources, agreed.pmode(agreed.text("service"), agreed.text("action")), Locale.US,
          AS4IncomingMessageMetadata.createForResponse(id), like, body, null, new AS4IncomingSecurityConfiguration().setSigningParams(agreed.signing()),
          new AS4IncomingReceiverConfiguration(), compare);
    }
    return facts;
  }

  /** Compared is whether the digests of a receipt are those of what was sent. */
  static class Compared implements IAS4SignalMessageValidationResultHandler {
    private final Map<String, Object> facts;

    Compared(Map<String, Object> facts) { this.facts = facts; }

    @Override public void onSuccess() { facts.put("equal", true); }

    @Override public void onError(String text) { facts.put("difference", text); }

    @Override public void onNotApplicable() {}
  }

  /** Again is a request whose body was read already. */
  private static class Again extends HttpServletRequestWrapper {
    private final byte[] body;

    Again(HttpServletRequest request, byte[] body) {
      super(request);
      this.body = body;
    }

    @Override public ServletInputStream getInputStream() {
      ByteArrayInputStream in = new ByteArrayInputStream(body);
      return new ServletInputStream() {
        @Override public int read() { return in.read(); }

        @Override public boolean isFinished() { return in.available() == 0; }

        @Override public boolean isReady() { return true; }

        @Override public void setReadListener(ReadListener listener) { throw new UnsupportedOperationException(); }
      };
    }
  }
}
