import java.util.concurrent.ExecutionException;
import org.apache.hc.client5.http.async.methods.SimpleRequestBuilder;
import org.apache.hc.client5.http.impl.async.HttpAsyncClients;

/** Apache HttpClient's HTTP/2 client: fetch the URLs of the command line one after the other by one client. */
class ApacheFetch {
    public static void main(String[] urls) throws InterruptedException {
        var client = HttpAsyncClients.customHttp2().useSystemProperties().build();
        client.start();
        for (var url : urls) {
            try {
                client.execute(SimpleRequestBuilder.get(url).build(), null).get();
            } catch (ExecutionException error) {
                System.err.println(error.getCause());
            }
        }
        System.exit(0);
    }
}
