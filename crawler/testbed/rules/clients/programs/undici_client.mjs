// undici with HTTP/2: fetch the URLs of the command line, behind the folder with node_modules, one after the other.
import { createRequire } from "node:module";
const { Agent, fetch } = createRequire(`${process.argv[2]}/`)("undici");
const dispatcher = new Agent({ allowH2: true });
for (const url of process.argv.slice(3)) {
  await fetch(url, { dispatcher })
    .then((response) => response.arrayBuffer())
    .catch((error) => console.error(`${error}: ${error.cause}`));
}
process.exit();
