// Node's own fetch: fetch the URLs of the command line one after the other.
for (const url of process.argv.slice(2)) {
  await fetch(url).then((response) => response.arrayBuffer()).catch((error) => console.error(`${error}: ${error.cause}`));
}
process.exit();
