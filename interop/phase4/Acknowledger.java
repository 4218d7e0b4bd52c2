import com.helger.httpclient.HttpClientFactory;
import com.helger.phase4.client.AS4ClientReceiptMessage;
import com.helger.phase4.ebms3header.Ebms3UserMessage;
import com.helger.phase4.incoming.IAS4IncomingMessageState;
import com.helger.phase4.util.AS4ResourceHelper;
import java.time.Duration;
import org.w3c.dom.Document;

/** Acknowledger posts receipts that do not stand in a response: the library makes them, and leaves it to its user when. */
class Acknowledger {
  private final Driver driver;
  private final Agreement agreed;

  Acknowledger(Driver driver, Agreement agreed) {
    this.driver = driver;
    this.agreed = agreed;
  }

  /** Posts the receipt for a message later, in a thread of its own. */
  void acknowledge(Ebms3UserMessage message, IAS4IncomingMessageState state) {
    Document soap = (Document) state.getOriginalSoapDocument().cloneNode(true);
    new Thread(() -> {
      try {
        post(message, soap);
      } catch (Exception e) {
        driver.lastError = "the receipt for " + message.getMessageInfo().getMessageId() + ": " + e;
      }
    }).start();
  }

  /** Posts the receipt for a message. */
  void post(Ebms3UserMessage message, Document soap) throws Exception {
    try (AS4ResourceHelper resources = new AS4ResourceHelper()) {
      AS4ClientReceiptMessage receipt = new AS4ClientReceiptMessage(resources);
      receipt.setCryptoFactory(agreed.sign);
      receipt.setSoapDocument(soap).setEbms3UserMessage(message);
      receipt.setNonRepudiation(agreed.signed()).setReceiptShouldBeSigned(agreed.signed());
      receipt.setRefToMessageID(message.getMessageInfo().getMessageId());
      agreed.signing().cloneTo(receipt.signingParams());
      receipt.httpRetrySettings().setMaxRetries(200).setDurationBeforeRetry(Duration.ofMillis(250));
      receipt.getHttpPoster().setHttpClientFactory(new HttpClientFactory(Sender.http(60)));
      receipt.sendMessageWithRetries(agreed.text("url"), response -> {
        if (response.getCode() >= 300) throw new IllegalStateException("HTTP " + response.getCode());
        return response.getCode();
      }, null, null, null);
    }
  }
}
