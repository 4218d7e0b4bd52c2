import com.helger.annotation.Nonempty;
import com.helger.collection.commons.CommonsArrayList;
import com.helger.collection.commons.ICommonsList;
import com.helger.http.EHttpMethod;
import com.helger.http.header.HttpHeaderMap;
import com.helger.phase4.attachment.WSS4JAttachment;
import com.helger.phase4.ebms3header.Ebms3PartInfo;
import com.helger.phase4.ebms3header.Ebms3Property;
import com.helger.phase4.ebms3header.Ebms3SignalMessage;
import com.helger.phase4.ebms3header.Ebms3UserMessage;
import com.helger.phase4.error.AS4ErrorList;
import com.helger.phase4.incoming.AS4IncomingProfileSelectorConstant;
import com.helger.phase4.incoming.AS4RequestHandler;
import com.helger.phase4.incoming.IAS4IncomingMessageMetadata;
import com.helger.phase4.incoming.IAS4IncomingMessageState;
import com.helger.phase4.incoming.crypto.AS4IncomingSecurityConfiguration;
import com.helger.phase4.incoming.spi.AS4MessageProcessorResult;
import com.helger.phase4.incoming.spi.AS4SignalMessageProcessorResult;
import com.helger.phase4.incoming.spi.IAS4IncomingMessageProcessorSPI;
import com.helger.phase4.model.error.EEbmsError;
import com.helger.phase4.model.pmode.IPMode;
import com.helger.phase4.servlet.AS4UnifiedResponse;
import com.helger.phase4.servlet.AS4XServletHandler;
import com.helger.phase4.servlet.IAS4ServletRequestHandlerCustomizer;
import com.helger.web.scope.IRequestWebScopeWithoutResponse;
import com.helger.xml.serialize.write.EXMLSerializeIndent;
import com.helger.xml.serialize.write.XMLWriter;
import com.helger.xml.serialize.write.XMLWriterSettings;
import com.helger.xservlet.AbstractXServlet;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.w3c.dom.Node;

/** Receiver takes messages at /as4/PROFILE: each profile has keys and certificates of its own. */
public class Receiver extends AbstractXServlet {
  public Receiver() {
    settings().setMultipartEnabled(false); // the library takes the parts apart itself
    handlerRegistry().registerHandler(EHttpMethod.POST, new AS4XServletHandler().setRequestHandlerCustomizer(new Setup()));
  }

  private static final ThreadLocal<Held> GIVEN = new ThreadLocal<>(); // to the request of this thread

  /** Setup gives a request the agreement that its address names. */
  private static class Setup implements IAS4ServletRequestHandlerCustomizer {
    @Override public void customizeBeforeHandling(IRequestWebScopeWithoutResponse request, AS4UnifiedResponse response, AS4RequestHandler handler) {
      GIVEN.remove();
      String profile = request.getPathInfo().substring(1);
      Agreement a = Driver.only.agreements.get(profile);
      if (a == null) throw new IllegalArgumentException("nothing is agreed for " + profile);
      handler.setCryptoFactorySign(a.sign);
      handler.setCryptoFactoryCrypt(a.crypt);
      handler.setPModeResolver(a.flag("no_pmode") ? (id, service, action, initiator, responder, agreement, address) -> null : a.resolver());
      handler.setIncomingProfileSelector(new AS4IncomingProfileSelectorConstant(null, false));
      try {
        handler.setIncomingSecurityConfiguration(new AS4IncomingSecurityConfiguration().setSigningParams(a.signing()).setCryptParams(a.crypting(a.text("edigw_crypt"))));
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
      handler.setProcessorSupplier(() -> new CommonsArrayList<>(new Processor(a)));
      handler.setErrorConsumer((metadata, state, errors, message) -> Driver.only.lastError = profile + ": " + errors);
    }

    /** The library answers a pull request with the header alone, neither signed nor with attachments. Here it gets the message that it built. */
    @Override public void customizeAfterHandling(IRequestWebScopeWithoutResponse request, AS4UnifiedResponse response, AS4RequestHandler handler) {
      Held held = GIVEN.get();
      GIVEN.remove();
      if (held == null) return;
      response.removeContent();
      response.removeMimeType();
      response.setContent(held.bytes);
      response.setMimeTypeString(held.type);
    }
  }

  /** Processor keeps what came. */
  private static class Processor implements IAS4IncomingMessageProcessorSPI {
    private final Agreement agreed;

    Processor(Agreement agreed) { this.agreed = agreed; }

    @Override public AS4MessageProcessorResult processAS4UserMessage(IAS4IncomingMessageMetadata metadata, HttpHeaderMap headers, Ebms3UserMessage message,
        IPMode pmode, Node body, ICommonsList<WSS4JAttachment> attachments, IAS4IncomingMessageState state, AS4ErrorList errors) {
      // By itself the library takes what is less secure than its P-Mode says.
      if (agreed.signed() && !state.isSoapSignatureChecked()) {
        errors.add(EEbmsError.EBMS_POLICY_NONCOMPLIANCE.errorBuilder(Locale.US).refToMessageInError(state.getMessageID())
            .errorDetail("the message is not signed").build());
        return AS4MessageProcessorResult.createFailure();
      }
      try {
        Driver.only.received.put(message.getMessageInfo().getMessageId(), facts(message, body, attachments, state));
        if (agreed.text("receipt").equals("async")) new Acknowledger(Driver.only, agreed).acknowledge(message, state);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
      return AS4MessageProcessorResult.createSuccess();
    }

    @Override public AS4SignalMessageProcessorResult processAS4SignalMessage(IAS4IncomingMessageMetadata metadata, HttpHeaderMap headers,
        Ebms3SignalMessage message, IPMode pmode, IAS4IncomingMessageState state, AS4ErrorList errors) {
      if (message.getPullRequest() != null) return pulled(message, state, errors);
      Map<String, Object> facts = new HashMap<>();
      Sender.read(agreed, message, state, facts);
      Driver.only.receipts.put(message.getMessageInfo().getRefToMessageId(), facts);
      return AS4SignalMessageProcessorResult.createSuccess();
    }

    /** Gives what waits in a channel to whoever signed the request with edigw's key. */
    private AS4SignalMessageProcessorResult pulled(Ebms3SignalMessage request, IAS4IncomingMessageState state, AS4ErrorList errors) {
      if (!state.isSoapSignatureChecked()) {
        errors.add(EEbmsError.EBMS_POLICY_NONCOMPLIANCE.errorBuilder(Locale.US).errorDetail("the pull request is not signed").build());
        return AS4SignalMessageProcessorResult.createFailure();
      }
      Held held = Channels.take(request.getPullRequest().getMpc());
      if (held == null) return AS4SignalMessageProcessorResult.createSuccess(); // it says that nothing waits
      GIVEN.set(held);
      return AS4SignalMessageProcessorResult.createSuccess(null, null, held.header);
    }

    @Override public void processAS4ResponseMessage(IAS4IncomingMessageMetadata metadata, IAS4IncomingMessageState state, @Nonempty String id,
        byte[] bytes, boolean available, AS4ErrorList errors) {}
  }

  /** What a message holds, its contents as files. */
  static Map<String, Object> facts(Ebms3UserMessage message, Node body, ICommonsList<WSS4JAttachment> attachments, IAS4IncomingMessageState state)
      throws Exception {
    List<Object> payloads = new ArrayList<>();
    if (body != null) {
      Path file = Driver.only.newFile();
      Files.writeString(file, XMLWriter.getNodeAsString(body, new XMLWriterSettings().setIndent(EXMLSerializeIndent.NONE)));
      payloads.add(payload(file, "application/xml", Map.of()));
    }
    if (attachments != null) {
      for (WSS4JAttachment a : attachments) {
        Path file = Driver.only.newFile();
        try (InputStream in = a.getSourceStream()) {
          Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
        }
        payloads.add(payload(file, a.getUncompressedMimeType(), partProperties(message, a.getId())));
      }
    }
    Map<String, Object> facts = new HashMap<>();
    facts.put("payloads", payloads);
    facts.put("signed", state.isSoapSignatureChecked());
    facts.put("encrypted", state.isSoapDecrypted());
    Map<String, Object> properties = new HashMap<>();
    if (message.getMessageProperties() != null) {
      for (Ebms3Property p : message.getMessageProperties().getProperty()) properties.put(p.getName(), p.getValue());
    }
    facts.put("properties", properties);
    return facts;
  }

  /** The library keeps its own part properties only. */
  private static Map<String, String> partProperties(Ebms3UserMessage message, String id) {
    Map<String, String> properties = new HashMap<>();
    for (Ebms3PartInfo part : message.getPayloadInfo().getPartInfo()) {
      if (!("cid:" + id).equals(part.getHref()) || part.getPartProperties() == null) continue;
      for (Ebms3Property p : part.getPartProperties().getProperty()) properties.put(p.getName(), p.getValue());
    }
    return properties;
  }

  private static Map<String, Object> payload(Path file, String type, Map<String, String> properties) {
    Map<String, Object> p = Driver.entry("file", file.toString());
    p.put("content_type", type);
    p.put("properties", properties);
    return p;
  }
}
