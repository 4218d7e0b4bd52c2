import java.util.HashMap;
import java.util.Map;

/** Board is where one thread leaves facts for another. */
class Board {
  private final Map<String, Map<String, Object>> facts = new HashMap<>();

  synchronized void put(String key, Map<String, Object> value) {
    facts.put(key, value);
    notifyAll();
  }

  /** The facts, or null if they are not there in time. */
  synchronized Map<String, Object> await(String key, int seconds) throws InterruptedException {
    long end = System.currentTimeMillis() + seconds * 1000L;
    for (long left = seconds * 1000L; !facts.containsKey(key) && left > 0; left = end - System.currentTimeMillis()) wait(left);
    return facts.get(key);
  }
}
