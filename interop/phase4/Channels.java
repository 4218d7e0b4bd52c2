import com.helger.annotation.style.IsSPIImplementation;
import com.helger.phase4.ebms3header.Ebms3SignalMessage;
import com.helger.phase4.incoming.spi.IAS4IncomingPullRequestProcessorSPI;
import com.helger.phase4.mgr.MetaAS4Manager;
import com.helger.phase4.model.EMEP;
import com.helger.phase4.model.EMEPBinding;
import com.helger.phase4.model.mpc.MPC;
import com.helger.phase4.model.pmode.IPMode;
import com.helger.phase4.model.pmode.PMode;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Channels are what edigw pulls from. The library asks by the channel which P-Mode a pull request is under. */
@IsSPIImplementation
public class Channels implements IAS4IncomingPullRequestProcessorSPI {
  private static final Map<String, Agreement> AGREED = new ConcurrentHashMap<>();
  private static final Map<String, Queue<Held>> WAITING = new ConcurrentHashMap<>();

  /** The library must know a channel, whoever pulls from it. */
  static void know(String mpc) {
    synchronized (Channels.class) {
      if (!MetaAS4Manager.getMPCMgr().containsWithID(mpc)) MetaAS4Manager.getMPCMgr().createMPC(new MPC(mpc));
    }
  }

  /** Opens the channel of an agreement. */
  static void open(Agreement agreed) {
    know(agreed.text("mpc"));
    AGREED.put(agreed.text("mpc"), agreed);
    WAITING.computeIfAbsent(agreed.text("mpc"), name -> new ConcurrentLinkedQueue<>());
  }

  /** Puts a message into the channel of an agreement. */
  static void put(Agreement agreed, Held held) { WAITING.get(agreed.text("mpc")).add(held); }

  /** Takes the next message of a channel; null: it is empty. */
  static Held take(String mpc) { return WAITING.get(mpc).poll(); }

  @Override public IPMode findPMode(Ebms3SignalMessage signal) {
    Agreement agreed = AGREED.get(signal.getPullRequest().getMpc());
    if (agreed == null) return null;
    PMode p = (PMode) agreed.pmode(agreed.text("service"), agreed.text("action"));
    return new PMode(p.getID(), p.getInitiator(), p.getResponder(), p.getAgreement(), EMEP.ONE_WAY, EMEPBinding.PULL, p.getLeg1(), null, null, null);
  }
}
