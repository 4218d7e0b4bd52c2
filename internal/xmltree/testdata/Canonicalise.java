import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.xml.security.Init;
import org.apache.xml.security.c14n.Canonicalizer;
import org.w3c.dom.Document;
import org.w3c.dom.Node;

/** Canonical forms by Apache Santuario; requests and answers as in canonicalise.py. */
public class Canonicalise {
    public static void main(String[] args) throws Exception {
        Init.init();
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setNamespaceAware(true);
        DocumentBuilder builder = factory.newDocumentBuilder();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        String name = null;
        Document document = null;
        List<Node> elements = null;
        for (String line; (line = in.readLine()) != null; ) {
            String[] request = line.split(" ");
            if (!request[0].equals(name)) {
                name = request[0];
                document = builder.parse(new File(name));
                elements = new ArrayList<>();
                gather(document.getDocumentElement(), elements);
            }
            int number = Integer.parseInt(request[1]);
            Node what = number < 0 ? document : elements.get(number);
            boolean comments = request[3].equals("comments");
            Canonicalizer canonicalizer;
            byte[] form;
            if (request[2].equals("inclusive")) {
                canonicalizer = Canonicalizer.getInstance(comments
                    ? Canonicalizer.ALGO_ID_C14N_WITH_COMMENTS : Canonicalizer.ALGO_ID_C14N_OMIT_COMMENTS);
                form = canonicalizer.canonicalizeSubtree(what);
            } else {
                canonicalizer = Canonicalizer.getInstance(comments
                    ? Canonicalizer.ALGO_ID_C14N_EXCL_WITH_COMMENTS : Canonicalizer.ALGO_ID_C14N_EXCL_OMIT_COMMENTS);
                form = canonicalizer.canonicalizeSubtree(what,
                    String.join(" ", Arrays.copyOfRange(request, 4, request.length)));
            }
            out.println(Base64.getEncoder().encodeToString(form));
        }
        out.flush();
    }

    static void gather(Node node, List<Node> elements) {
        if (node.getNodeType() == Node.ELEMENT_NODE) {
            elements.add(node);
        }
        for (Node child = node.getFirstChild(); child != null; child = child.getNextSibling()) {
            gather(child, elements);
        }
    }
}
