import okhttp3.OkHttpClient;
import okhttp3.Request;

/** OkHttp: fetch the URLs of the command line one after the other by one client. */
class OkHttpFetch {
    public static void main(String[] urls) {
        var client = new OkHttpClient();
        for (var url : urls) {
            try (var response = client.newCall(new Request.Builder().url(url).build()).execute()) {
                response.body().bytes();
            } catch (java.io.IOException error) {
                System.err.println(error);
            }
        }
        System.exit(0);
    }
}
