import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Json reads a command and writes an answer; none of the libraries here brings a reader along. */
class Json {
  private final String s;
  private int at;

  Json(String s) { this.s = s; }

  Map<String, Object> object() { return map(value()); }

  private Object value() {
    switch (next()) {
      case '{': {
        Map<String, Object> m = new LinkedHashMap<>();
        at++;
        while (next() != '}') {
          String key = string();
          expect(':');
          m.put(key, value());
          if (next() == ',') at++;
        }
        at++;
        return m;
      }
      case '[': {
        List<Object> list = new ArrayList<>();
        at++;
        while (next() != ']') {
          list.add(value());
          if (next() == ',') at++;
        }
        at++;
        return list;
      }
      case '"': return string();
      default: return literal();
    }
  }

  private char next() {
    while (Character.isWhitespace(s.charAt(at))) at++;
    return s.charAt(at);
  }

  private void expect(char c) {
    if (next() != c) throw new IllegalArgumentException("expected " + c + " at " + at);
    at++;
  }

  private String string() {
    expect('"');
    StringBuilder b = new StringBuilder();
    for (; s.charAt(at) != '"'; at++) b.append(s.charAt(at) == '\\' ? escaped() : s.charAt(at));
    at++;
    return b.toString();
  }

  private char escaped() {
    char c = s.charAt(++at);
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'b': return '\b';
      case 'f': return '\f';
      case 'u':
        at += 4;
        return (char) Integer.parseInt(s.substring(at - 3, at + 1), 16);
      default: return c;
    }
  }

  private Object literal() {
    int from = at;
    while (at < s.length() && ",}] \t".indexOf(s.charAt(at)) < 0) at++;
    String word = s.substring(from, at);
    switch (word) {
      case "true": return true;
      case "false": return false;
      case "null": return null;
      default: return Long.valueOf(word); // no command has a fraction
    }
  }

  static String write(Object o) {
    if (o instanceof Map<?, ?> m) {
      StringBuilder b = new StringBuilder("{");
      m.forEach((k, v) -> b.append(b.length() > 1 ? "," : "").append(quote(k.toString())).append(':').append(write(v)));
      return b.append('}').toString();
    }
    if (o instanceof List<?> all) {
      StringBuilder b = new StringBuilder("[");
      all.forEach(v -> b.append(b.length() > 1 ? "," : "").append(write(v)));
      return b.append(']').toString();
    }
    return o == null || o instanceof Number || o instanceof Boolean ? String.valueOf(o) : quote(o.toString());
  }

  private static String quote(String s) {
    StringBuilder b = new StringBuilder("\"");
    for (char c : s.toCharArray()) {
      if (c == '"' || c == '\\') b.append('\\').append(c);
      else if (c < ' ' || c > '~') b.append(String.format("\\u%04x", (int) c));
      else b.append(c);
    }
    return b.append('"').toString();
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> map(Object o) {
    if (o instanceof Map) return (Map<String, Object>) o;
    throw new IllegalArgumentException("not an object: " + o);
  }

  static String text(Map<String, Object> m, String key) {
    Object v = m.get(key);
    return v == null ? "" : v.toString();
  }

  static boolean flag(Map<String, Object> m, String key) { return Boolean.TRUE.equals(m.get(key)); }

  /** The elements of a list of objects; none if there is no such list. */
  static List<Map<String, Object>> maps(Map<String, Object> m, String key) {
    List<Map<String, Object>> all = new ArrayList<>();
    if (m.get(key) instanceof List<?> list) list.forEach(o -> all.add(map(o)));
    return all;
  }

  static int number(Map<String, Object> m, String key) { return ((Number) m.get(key)).intValue(); }
}
