import com.helger.httpclient.HttpClientSettings;
import com.helger.mime.parse.MimeTypeParser;
import com.helger.phase4.attachment.AS4OutgoingAttachment;
import com.helger.phase4.attachment.IAS4IncomingAttachmentFactory;
import com.helger.phase4.client.IAS4ClientBuildMessageCallback;
import com.helger.phase4.ebms3header.Ebms3Error;
import com.helger.phase4.ebms3header.Ebms3SignalMessage;
import com.helger.phase4.incoming.AS4IncomingProfileSelectorConstant;
import com.helger.phase4.incoming.IAS4IncomingMessageState;
import com.helger.phase4.CAS4;
import com.helger.phase4.model.MessageProperty;
import com.helger.phase4.sender.AS4Sender;
import com.helger.phase4.sender.AbstractAS4UserMessageBuilder;
import com.helger.phase4.sender.EAS4UserMessageSendResult;
import java.io.File;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hc.core5.util.Timeout;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** Sender sends documents with the library's AS4Sender. */
class Sender {
  private final Agreement agreed;

  Sender(Agreement agreed) { this.agreed = agreed; }

  void send(Map<String, Object> c, Map<String, Object> answer) throws Exception {
    AbstractAS4UserMessageBuilder<?> message = agreed.flag("body") ? new BodySender(documents(c).get(0)) : AS4Sender.builderUserMessage();
    for (Map<String, Object> d : documents(c)) {
      if (!agreed.flag("body")) message.addAttachment(attachment(d));
    }
    describe(message, c);
    message.signalMsgConsumer((signal, metadata, state) -> read(agreed, signal, state, answer));
    message.signalMsgValidationResultHdl(new Receipts.Compared(answer));
    message.rawResponseConsumer(response -> {
      answer.put("message_id", response.getMessageID());
      if (agreed.flag("takes_receipts")) Driver.only.sent.put(response.getMessageID(), Driver.entry("message", response));
      if (response.hasResponseStatusLine()) answer.put("status", response.getResponseStatusLine().getStatusCode());
    });
    List<String> problems = new ArrayList<>();
    EAS4UserMessageSendResult result = message.sendMessageAndCheckForReceipt(e -> {
      for (Throwable t = e; t != null; t = t.getCause()) problems.add(String.valueOf(t));
    });
    if (!result.isSuccess()) answer.put("problem", result.getID() + (problems.isEmpty() ? "" : ": " + String.join("; ", problems)));
  }

  /** Builds documents as a message, and lets it wait until edigw pulls it; with a MessageId the one that was built. Without either the channel is empty. */
  void hold(Map<String, Object> c, Map<String, Object> answer) throws Exception {
    Channels.open(agreed);
    String again = Json.text(c, "message_id");
    if (!again.isEmpty()) {
      Channels.put(agreed, (Held) Driver.only.sent.await(again, 0).get("held"));
    } else if (!documents(c).isEmpty()) {
      Held held = new Held();
      for (Map<String, Object> d : documents(c)) held.addAttachment(attachment(d));
      describe(held, c);
      held.sendMessage();
      answer.put("message_id", held.message.getMessageID());
      Map<String, Object> entry = Driver.entry("message", held.message);
      entry.put("held", held);
      Driver.only.sent.put(held.message.getMessageID(), entry);
      Channels.put(agreed, held);
    }
  }

  static List<Map<String, Object>> documents(Map<String, Object> c) { return Json.maps(c, "documents"); }

  /** Who sends what to whom, and how it is secured; "ping", "message_id", "recipient" and "corrupt" are what scenarios want otherwise. */
  private void describe(AbstractAS4UserMessageBuilder<?> m, Map<String, Object> c) throws Exception {
    boolean ping = Json.flag(c, "ping");
    String service = ping ? CAS4.DEFAULT_SERVICE_URL : agreed.text("service"), action = ping ? CAS4.DEFAULT_ACTION_URL : agreed.text("action");
    m.as4ProfileID("interop").pmode(agreed.pmode(service, action)).pmodeResolver(agreed.resolver());
    m.incomingAttachmentFactory(IAS4IncomingAttachmentFactory.DEFAULT_INSTANCE).incomingProfileSelector(new AS4IncomingProfileSelectorConstant(null, false));
    m.cryptoFactorySign(agreed.sign).cryptoFactoryCrypt(agreed.crypt);
    agreed.signing().cloneTo(m.signingParams());
    String recipient = Json.text(c, "recipient");
    agreed.crypting(recipient.isEmpty() ? agreed.text("edigw_crypt") : recipient).cloneTo(m.cryptParams());
    m.fromPartyIDType(Agreement.none(agreed.text("peer_type"))).fromPartyID(agreed.text("peer")).fromRole(CAS4.DEFAULT_INITIATOR_URL);
    m.toPartyIDType(Agreement.none(agreed.text("edigw_type"))).toPartyID(agreed.text("edigw")).toRole(CAS4.DEFAULT_RESPONDER_URL);
    m.agreementRef(Agreement.none(agreed.text("agreement"))).agreementType(Agreement.none(agreed.text("agreement_type")));
    m.service(ping ? null : Agreement.none(agreed.text("service_type")), service).action(action);
    m.conversationID(agreed.text("conversation").equals("none") ? "" : "conversation-" + agreed.text("profile"));
    Json.map(agreed.terms.get("properties")).forEach((name, value) ->
        m.addMessageProperty(MessageProperty.builder().name(name).type(Agreement.none(agreed.text("properties_type"))).value(value.toString()).build()));
    m.messageID(Agreement.none(Json.text(c, "message_id")));
    m.endpointURL(agreed.text("url"));
    m.httpClientFactory(http(Json.number(c, "wait")));
    if (Json.flag(c, "corrupt")) m.buildMessageCallback(new Forger());
  }

  static HttpClientSettings http(int wait) {
    return (HttpClientSettings) new HttpClientSettings().setConnectTimeout(Timeout.ofSeconds(wait)).setResponseTimeout(Timeout.ofSeconds(wait));
  }

  private AS4OutgoingAttachment attachment(Map<String, Object> d) throws Exception {
    AS4OutgoingAttachment.Builder b = AS4OutgoingAttachment.builder().data(new File(Json.text(d, "file")))
        .mimeType(MimeTypeParser.parseMimeType(Json.text(d, "content_type")));
    if (agreed.flag("compress")) b.compressionGZIP();
    if (!agreed.text("file_name_property").isEmpty()) b.customProperty(agreed.text("file_name_property"), Json.text(d, "file_name"));
    return b.build();
  }

  /** What a signal says, and whether its signature holds: the library refuses one that is not edigw's. */
  static void read(Agreement agreed, Ebms3SignalMessage signal, IAS4IncomingMessageState state, Map<String, Object> facts) {
    facts.put("receipt", signal.getReceipt() != null);
    facts.put("verified", state.isSoapSignatureChecked());
    facts.put("signal_id", signal.getMessageInfo().getMessageId());
    facts.put("ref_to", signal.getMessageInfo().getRefToMessageId());
    List<Object> errors = new ArrayList<>();
    for (Ebms3Error e : signal.getError()) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("code", e.getErrorCode());
      one.put("severity", e.getSeverity());
      one.put("detail", e.getErrorDetail());
      errors.add(one);
    }
    facts.put("errors", errors);
  }

  /** Forger changes a signed header. */
  private static class Forger implements IAS4ClientBuildMessageCallback {
    @Override public void onSignedSoapDocument(Document d) {
      Element conversation = (Element) d.getElementsByTagNameNS(CAS4.EBMS_NS, "ConversationId").item(0);
      conversation.setTextContent("forged");
    }
  }
}
