import com.helger.phase4.client.AS4ClientUserMessage;
import com.helger.phase4.incoming.AS4IncomingReceiverConfiguration;
import com.helger.phase4.incoming.crypto.AS4IncomingSecurityConfiguration;
import com.helger.phase4.sender.AS4BidirectionalClientHelper;
import com.helger.phase4.sender.AbstractAS4UserMessageBuilder;
import com.helger.phase4.util.AS4ResourceHelper;
import com.helger.phase4.util.Phase4Exception;
import com.helger.xml.serialize.read.DOMReader;
import java.io.File;
import java.util.Map;

/** BodySender sends an XML document in the SOAP Body: the library's own builder makes attachments only. */
class BodySender extends AbstractAS4UserMessageBuilder<BodySender> {
  private final File document;

  BodySender(Map<String, Object> document) { this.document = new File(Json.text(document, "file")); }

  @Override protected void mainSendMessage() throws Phase4Exception {
    try (AS4ResourceHelper resources = new AS4ResourceHelper()) {
      AS4ClientUserMessage message = new AS4ClientUserMessage(resources);
      applyToUserMessage(message);
      message.setPayload(DOMReader.readXMLDOM(document));
      AS4BidirectionalClientHelper.sendAS4UserMessageAndReceiveAS4SignalMessage(cryptoFactorySign(), cryptoFactoryCrypt(), pmodeResolver(),
          incomingAttachmentFactory(), incomingProfileSelector(), message, locale(), endpointURL(), buildMessageCallback(), null, null,
          new AS4IncomingSecurityConfiguration().setSigningParams(signingParams().getClone()).setCryptParams(cryptParams().getClone()),
          new AS4IncomingReceiverConfiguration(), null, rawResponseConsumer(), signalMsgConsumer(), signalMsgValidationResultHdl());
    } catch (Phase4Exception e) {
      throw e;
    } catch (Exception e) {
      throw new Phase4Exception("cannot send", e);
    }
  }
}
