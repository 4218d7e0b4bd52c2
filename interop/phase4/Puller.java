import com.helger.phase4.attachment.IAS4IncomingAttachmentFactory;
import com.helger.phase4.incoming.AS4IncomingProfileSelectorConstant;
import com.helger.phase4.sender.AS4Sender;
import java.util.Map;

/** Puller fetches a message with the library's pull request, and posts the receipt for it. */
class Puller {
  private final Driver driver;
  private final Agreement agreed;

  Puller(Driver driver, Agreement agreed) {
    this.driver = driver;
    this.agreed = agreed;
  }

  void pull(Map<String, Object> c, Map<String, Object> answer) throws Exception {
    Channels.know(agreed.text("mpc"));
    AS4Sender.BuilderPullRequest request = AS4Sender.builderPullRequest();
    request.as4ProfileID("interop").pmode(agreed.pmode(agreed.text("service"), agreed.text("action"))).pmodeResolver(agreed.resolver());
    request.incomingAttachmentFactory(IAS4IncomingAttachmentFactory.DEFAULT_INSTANCE).incomingProfileSelector(new AS4IncomingProfileSelectorConstant(null, false));
    request.cryptoFactorySign(agreed.sign).cryptoFactoryCrypt(agreed.crypt);
    agreed.signing().cloneTo(request.signingParams());
    agreed.crypting(agreed.text("edigw_crypt")).cloneTo(request.cryptParams());
    request.mpc(agreed.text("mpc")).endpointURL(agreed.text("url")).httpClientFactory(Sender.http(Json.number(c, "wait")));
    request.userMsgConsumer((message, metadata, state) -> {
      try {
        answer.put("message_id", message.getMessageInfo().getMessageId());
        answer.putAll(Receiver.facts(message, state.getSoapBodyPayloadNode(),
            state.hasDecryptedAttachments() ? state.getDecryptedAttachments() : state.getOriginalAttachments(), state));
        if (!Json.flag(c, "no_receipt")) new Acknowledger(driver, agreed).post(message, state.getOriginalSoapDocument());
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    });
    request.signalMsgConsumer((signal, metadata, state) -> Sender.read(agreed, signal, state, answer));
    request.sendMessage();
  }
}
