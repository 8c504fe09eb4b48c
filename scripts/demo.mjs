// Shows the whole flow on real input: starts a registry on a free port with a temporary folder, publishes
// definitions, finds and shows them, and reads them back as a catalog. Leaves nothing behind. Needs a built
// checkout (`npm run demo` builds).
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const program = path.join(root, 'apps/cli/bin/krmhub.js');
const fixtures = path.join(root, 'test/fixtures');
const kptMetadata = path.join(path.dirname(root), 'shared/data/kpt-metadata/release-branches');
const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-demo-'));
const started = process.hrtime.bigint();

const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('KRMHUB_')),
);
let server;
process.on('exit', () => {
  server?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});
process.on('SIGINT', () => process.exit(130));

say('A registry on a free port, with a temporary folder');
const url = await serve();
environment.KRMHUB_REGISTRY = url;
environment.KRMHUB_TOKEN = readFileSync(path.join(folder, 'data/admin.token'), 'utf8').trim();
console.log(url);

say('Definitions of a platform team, each under the version of its image');
const next = path.join(fixtures, 'functions/set-labels/2.0.0.yaml');
run(
  'publish',
  ...definitions('set-labels', 'set-namespace', 'require-limits', 'render-chart').filter(
    (file) => file !== next,
  ),
);
say('The next release drops an API version: krmhub reports it, and we allow it');
run('publish', next, '--allow-breaking');
say('A script without a version in its tag, under a release that we name');
run('publish', path.join(fixtures, 'functions/rename-images/0.2.0.yaml'), '--release', '0.2.0');
say('A hand-written catalog: one function for each entry');
run('publish', path.join(fixtures, 'catalogs/example-co.yaml'));

if (existsSync(kptMetadata)) {
  say('46 releases of real kpt functions, converted from their metadata');
  run('convert', kptMetadata, '--out', path.join(folder, 'converted'));
  run('publish', path.join(folder, 'converted'));
} else {
  say('No kpt metadata beside this checkout: the demo skips that part');
}

say('Find a function');
run('search', '--tag', 'mutator');
run('search', 'set labels', '--limit', '3');
say('See how to use it');
run('show', 'functions.example.com/SetLabels');

say('A catalog of one group, from a recipe');
run('catalog', 'apply', path.join(fixtures, 'recipes/example-co.yaml'));
run('catalog', 'list');
run('catalog', 'pull', 'example-co', '--out', path.join(folder, 'catalog.yaml'));
console.log(
  `${readFileSync(path.join(folder, 'catalog.yaml'), 'utf8').split('\n').slice(0, 16).join('\n')}\n  …`,
);

say('The catalog of everything, as an orchestrator reads it');
const response = await fetch(`${url}/catalogs/default/catalog.yaml`);
const text = await response.text();
console.log(`GET ${url}/catalogs/default/catalog.yaml`);
console.log(`${response.status}, ${Buffer.byteLength(text)} bytes, ETag ${response.headers.get('etag')}`);
const again = await fetch(`${url}/catalogs/default/catalog.yaml`, {
  headers: { 'if-none-match': response.headers.get('etag') },
});
console.log(`status of the request with that ETag: ${again.status}`);

server.kill('SIGTERM');
await new Promise((resolve) => server.once('close', resolve));
const seconds = Number(process.hrtime.bigint() - started) / 1e9;
console.log(`\nDone in ${seconds.toFixed(1)} s; the registry is stopped and its folder removed.`);

function definitions(...names) {
  return names.flatMap((name) => {
    const where = path.join(fixtures, 'functions', name);
    return readdirSync(where)
      .filter((file) => file.endsWith('.yaml') && statSync(path.join(where, file)).isFile())
      .map((file) => path.join(where, file));
  });
}

function say(text) {
  console.log(`\n# ${text}`);
}

function run(...args) {
  const shown = args
    .map((argument) => relative(argument))
    .map((argument) => (argument.includes(' ') ? `"${argument}"` : argument));
  console.log(`$ krmhub ${shown.join(' ')}`);
  const { status } = spawnSync(process.execPath, [program, ...args], {
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) {
    console.error(`krmhub ended with ${status}.`);
    process.exit(1);
  }
}

function relative(argument) {
  if (argument.startsWith(folder)) return path.relative(folder, argument);
  return path.isAbsolute(argument) ? path.relative(root, argument) : argument;
}

async function serve() {
  server = spawn(
    process.execPath,
    [program, 'serve', '--host', '127.0.0.1', '--port', '0', '--data', path.join(folder, 'data')],
    {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  return new Promise((resolve, reject) => {
    const read = (chunk) => {
      output += chunk;
      const address = /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(output);
      if (address) resolve(address[0]);
    };
    server.stdout.on('data', read);
    server.stderr.on('data', read);
    server.once('close', (code) => reject(new Error(`the registry ended with ${code}:\n${output}`)));
  });
}
