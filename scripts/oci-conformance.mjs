// Runs the conformance suite of the OCI distribution-spec, a separate program, against a registry on a free
// port with a temporary folder, and counts its results: `npm run oci-conformance`. Leaves nothing behind.
// Exit code 1 if a test failed, 2 if the suite, or a program that --processes needs, is not installed.
import { spawn, spawnSync } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const MODULE = 'github.com/opencontainers/distribution-spec/conformance@v0.0.0-20260831232431-97274622c111';
/** Seconds that the suite may run: ten times what it needs to push, pull and delete everything. */
const SECONDS = 600;
const USAGE =
  'Usage: npm run oci-conformance -- [--version 1.1|dev] [--seconds N] [--processes N]; 1.1 is the specification, dev its next version. With --processes, that many processes of a registry with PostgreSQL and S3 get the requests in turn.';

const { version, seconds, processes } = readArguments();
const suite = findSuite();
if (suite === undefined) {
  const named = process.env.OCI_CONFORMANCE;
  console.error(
    named
      ? `OCI_CONFORMANCE is not a program: ${named}`
      : 'Conformance suite not found: no program `conformance` on PATH, and OCI_CONFORMANCE is not set.',
  );
  console.error(`Install it with: go install ${MODULE}`);
  process.exit(2);
}
const prepared = spawnSync(process.execPath, [path.join(root, 'scripts/prepare.mjs')], { stdio: 'inherit' });
if (prepared.status !== 0) process.exit(1);

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-conformance-'));
let server;
let running;
process.on('exit', () => {
  endGroup(server);
  endGroup(running);
  rmSync(folder, { recursive: true, force: true });
});
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
  ['SIGHUP', 1],
]) {
  process.on(signal, () => process.exit(128 + number));
}

const { url, closed } = await serve().catch((error) => {
  if (processes === undefined || error.code !== 2) throw error;
  console.error(error.message);
  process.exit(2);
});
const results = path.join(folder, 'results');
mkdirSync(results);
/** The suite prints its settings and hundreds of lines of results: they are shown only after a failure. */
const log = path.join(folder, 'output.log');
const code = await runSuite();
server.kill('SIGTERM');
await closed;
process.exitCode = report(code);
if (process.exitCode !== 0) console.error(readFileSync(log, 'utf8'));

function readArguments() {
  try {
    const options = ['version', 'seconds', 'processes'].map((name) => [name, { type: 'string' }]);
    const { values } = parseArgs({ options: Object.fromEntries(options) });
    const { version = '1.1', seconds = String(SECONDS), processes } = values;
    if (!['1.1', 'dev'].includes(version)) throw new Error(`--version must be 1.1 or dev, not ${version}`);
    if (!/^[1-9]\d{0,5}$/.test(seconds)) throw new Error(`--seconds must be a whole number, not ${seconds}`);
    if (processes !== undefined && !/^[1-9]$/.test(processes))
      throw new Error(`--processes must be 1 to 9, not ${processes}`);
    return { version, seconds: Number(seconds), processes };
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

function findSuite() {
  const named = process.env.OCI_CONFORMANCE;
  const places = named
    ? [path.resolve(named)]
    : (process.env.PATH ?? '')
        .split(path.delimiter)
        .filter((place) => place !== '')
        .map((place) => path.join(place, 'conformance'));
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return statSync(place).isFile();
    } catch {
      return false;
    }
  });
}

async function serve() {
  const data = path.join(folder, 'data');
  const several = ['test/contracts/run-source.mjs', 'test/replicas/serve.ts', data, processes];
  const one = ['apps/cli/bin/krmhub.js', 'serve', '--host', '127.0.0.1', '--port', '0', '--data', data];
  server = spawn(process.execPath, processes === undefined ? one : several, {
    cwd: root,
    // The suite has no pause between requests: no rate limits.
    env: { ...without('KRMHUB_'), KRMHUB_REQUESTS_PER_MINUTE: '0', KRMHUB_WRITES_PER_MINUTE: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group, so that its children end with it.
    detached: true,
  });
  const closed = new Promise((resolve) => server.once('close', resolve));
  let output = '';
  const url = await new Promise((resolve, reject) => {
    const read = (chunk) => {
      output = (output + chunk).slice(-10_000);
      const address = /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(output);
      if (address) resolve(address[0]);
    };
    server.stdout.on('data', read);
    server.stderr.on('data', read);
    void closed.then((code) =>
      reject(Object.assign(new Error(`the registry ended with ${code}:\n${output}`), { code })),
    );
  });
  return { url, closed };
}

/** Settings of the suite in the user's environment would test something else. */
function without(prefix) {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith(prefix)));
}

/** Returns the exit code; undefined after a timeout. */
async function runSuite() {
  console.error(`Running ${suite} (OCI_VERSION=${version}) against ${url} …`);
  const output = openSync(log, 'w');
  running = spawn(suite, [], {
    // It looks for a configuration file in its working directory.
    cwd: results,
    env: {
      ...without('OCI_'),
      OCI_REGISTRY: new URL(url).host,
      OCI_TLS: 'disabled',
      OCI_REPO1: 'conformance/one',
      OCI_REPO2: 'conformance/two',
      OCI_USERNAME: 'conformance',
      OCI_PASSWORD: readFileSync(path.join(folder, 'data/admin.token'), 'utf8').trim(),
      OCI_VERSION: version,
      OCI_RESULTS_DIR: results,
    },
    stdio: ['ignore', output, output],
    // A process group, so that its children end with it.
    detached: true,
  });
  closeSync(output);
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, seconds * 1_000);
  });
  const ended = new Promise((resolve, reject) => {
    running.once('error', reject);
    running.once('exit', (code, signal) => resolve(code ?? signal));
  });
  try {
    return await Promise.race([ended, late]);
  } finally {
    clearTimeout(timer);
    endGroup(running);
  }
}

function endGroup(program) {
  if (program?.pid === undefined) return;
  try {
    process.kill(-program.pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

function report(code) {
  if (code === undefined) {
    console.error(`The suite did not exit within ${seconds} seconds.`);
    return 1;
  }
  const missing = ['results.yaml', 'junit.xml'].filter((name) => read(name) === undefined);
  if (missing.length > 0) {
    console.error(
      `The suite ended with ${code} and did not write ${missing.join(' or ')}: not all tests ran.`,
    );
    return 1;
  }
  const count = { passed: 0, failed: 0, skipped: 0 };
  for (const [element] of read('junit.xml').matchAll(/<testcase\b[^>]*>/g)) {
    const status = attribute(element, 'status');
    const counted = status === 'passed' || status === 'skipped' ? status : 'failed';
    count[counted] += 1;
    if (counted !== 'passed') console.error(`${counted}: ${attribute(element, 'name')}`);
  }
  if (count.failed === 0 && code !== 0)
    console.error(`The suite ended with ${code}, but reports no failed test.`);
  if (count.passed === 0) console.error('Nothing passed.');
  console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
  return count.failed > 0 || count.passed === 0 || code !== 0 ? 1 : 0;
}

function attribute(element, name) {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(element)?.[1];
}

function read(name) {
  try {
    return readFileSync(path.join(results, name), 'utf8');
  } catch {
    return undefined;
  }
}
