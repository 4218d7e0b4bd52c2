import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** Load sends the same documents many times, from several threads at once. */
class Load {
  private final Sender sender;
  private volatile String lastProblem = "";

  Load(Sender sender) { this.sender = sender; }

  /** Sends count messages, and tells how long that took and how many got a receipt that fits. */
  void send(Map<String, Object> c, Map<String, Object> answer) throws Exception {
    int count = Json.number(c, "count");
    AtomicInteger begun = new AtomicInteger(), delivered = new AtomicInteger();
    Thread[] threads = new Thread[Json.number(c, "senders")];
    long begin = System.nanoTime();
    for (int i = 0; i < threads.length; i++) {
      threads[i] = new Thread(() -> {
        while (begun.getAndIncrement() < count) {
          if (one(c)) delivered.incrementAndGet();
        }
      });
      threads[i].start();
    }
    for (Thread t : threads) t.join();
    answer.put("seconds", (System.nanoTime() - begin) / 1e9);
    answer.put("delivered", delivered.get());
    if (delivered.get() != count) answer.put("error", lastProblem);
  }

  private boolean one(Map<String, Object> c) {
    Map<String, Object> told = new LinkedHashMap<>();
    try {
      sender.send(c, told);
    } catch (Exception e) {
      told.put("problem", String.valueOf(e));
    }
    if (Json.flag(told, "receipt") && Json.flag(told, "equal")) return true;
    lastProblem = Json.write(told);
    return false;
  }
}
