import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Commands come as lines of JSON, each is answered with one line (see ../README.md). */
class Commands {
  /** Performer carries out a command: it fills in the answer, or throws what went wrong. */
  interface Performer {
    void perform(String op, Map<String, Object> command, Map<String, Object> answer) throws Exception;
  }

  /** Serves commands until the standard input ends, and ends the program then. */
  static void serve(Performer performer) throws IOException {
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    System.setOut(System.err); // whatever a library prints must not look like an answer
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      Map<String, Object> command = new Json(line).object();
      new Thread(() -> {
        Map<String, Object> answer = new LinkedHashMap<>();
        try {
          performer.perform(Json.text(command, "op"), command, answer);
        } catch (Throwable t) { // an OutOfMemoryError is an answer, too
          t.printStackTrace();
          answer.put("error", String.valueOf(t));
        }
        answer.put("id", command.get("id"));
        synchronized (out) {
          out.println(Json.write(answer));
        }
      }).start();
    }
    System.exit(0); // the receivers' threads are no daemons
  }
}
