import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** The JDK's java.net.http: fetch the URLs of the command line one after the other by one client. */
class JdkFetch {
    public static void main(String[] urls) throws InterruptedException {
        var client = HttpClient.newHttpClient();
        for (var url : urls) {
            try {
                client.send(HttpRequest.newBuilder(URI.create(url)).build(), BodyHandlers.discarding());
            } catch (java.io.IOException error) {
                System.err.println(error);
            }
        }
        System.exit(0);
    }
}
