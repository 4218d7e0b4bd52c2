import com.helger.http.header.HttpHeaderMap;
import com.helger.phase4.attachment.AS4OutgoingAttachment;
import com.helger.phase4.attachment.WSS4JAttachment;
import com.helger.phase4.client.AS4ClientBuiltMessage;
import com.helger.phase4.client.AS4ClientSentMessage;
import com.helger.phase4.client.AS4ClientUserMessage;
import com.helger.phase4.client.IAS4ClientBuildMessageCallback;
import com.helger.phase4.ebms3header.Ebms3UserMessage;
import com.helger.phase4.model.message.AS4UserMessage;
import com.helger.phase4.model.message.AbstractAS4Message;
import com.helger.phase4.sender.AbstractAS4UserMessageBuilder;
import com.helger.phase4.util.AS4ResourceHelper;
import com.helger.phase4.util.Phase4Exception;
import java.io.ByteArrayOutputStream;

/** Held is a message that waits until edigw pulls it. The library builds it as one that it sends. */
class Held extends AbstractAS4UserMessageBuilder<Held> {
  AS4ClientSentMessage<byte[]> message;
  Ebms3UserMessage header; // before it is signed
  String type;
  byte[] bytes;

  @Override protected void mainSendMessage() throws Phase4Exception {
    try (AS4ResourceHelper resources = new AS4ResourceHelper()) {
      AS4ClientUserMessage m = new AS4ClientUserMessage(resources);
      applyToUserMessage(m);
      for (AS4OutgoingAttachment a : m_aAttachments) m.addAttachment(WSS4JAttachment.createOutgoingFileAttachment(a, resources));
      AS4ClientBuiltMessage built = m.buildMessage(m.createMessageID(), new IAS4ClientBuildMessageCallback() {
        @Override public void onAS4Message(AbstractAS4Message<?> plain) { header = ((AS4UserMessage) plain).getEbms3UserMessage(); }
      });
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      built.getHttpEntity().writeTo(out);
      bytes = out.toByteArray();
      String custom = built.getAllCustomHttpHeaders().getFirstHeaderValue("Content-Type");
      type = custom != null ? custom : built.getHttpEntity().getContentType();
      message = new AS4ClientSentMessage<>(built, null, new HttpHeaderMap(), null);
    } catch (Exception e) {
      throw new Phase4Exception("cannot build", e);
    }
  }
}
