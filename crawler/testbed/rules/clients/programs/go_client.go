// Go's net/http: fetch the URLs of the command line one after the other by one client.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	authority, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	client := http.Client{Transport: transport}
	for _, url := range os.Args[2:] {
		response, err := client.Get(url)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}
