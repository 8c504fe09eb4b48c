import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

/**
 * Speaks the protocol of sigstore's conformance suite (sigstore-conformance, docs/cli_protocol.md) and runs krmhub:
 * it changes options, and decides nothing.
 */
const krmhub = path.join(import.meta.dirname, '../../../apps/cli/bin/krmhub.js');
const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-conformance-'));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    staging: { type: 'boolean' },
    'in-toto': { type: 'boolean' },
    'identity-token': { type: 'string' },
    bundle: { type: 'string' },
    key: { type: 'string' },
    'certificate-identity': { type: 'string' },
    'certificate-oidc-issuer': { type: 'string' },
    'trusted-root': { type: 'string' },
    'signing-config': { type: 'string' },
  },
});

function ends(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 2;
}

/** Options of ours that were given under another name, or not at all. */
function options(names) {
  return Object.entries(names).flatMap(([ours, value]) => (value === undefined ? [] : [`--${ours}`, value]));
}

function run(...args) {
  const { status } = spawnSync(process.execPath, [krmhub, ...args], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

function written(name, text) {
  const file = path.join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function verify(artifact) {
  run(
    'verify',
    artifact,
    ...options({
      bundle: values.bundle,
      key: values.key,
      identity: values['certificate-identity'],
      issuer: values['certificate-oidc-issuer'],
      'trusted-root': values['trusted-root'],
    }),
    // The suite holds bundles to their signer, whatever they say.
    '--type',
    'any',
  );
}

function sign(artifact) {
  const statement = values['in-toto'] === true ? JSON.parse(readFileSync(artifact, 'utf8')) : undefined;
  const subjects = statement?.subject ?? [];
  if (statement !== undefined && (subjects.length !== 1 || subjects[0].digest?.sha256 === undefined)) {
    ends('krmhub signs a statement about one thing, by its sha256 digest');
    return;
  }
  const said = {
    predicate: statement && written('predicate.json', JSON.stringify(statement.predicate ?? {})),
    type: statement?.predicateType,
  };
  run(
    'sign',
    statement === undefined ? artifact : `sha256:${subjects[0].digest.sha256}`,
    '--keyless',
    '--overwrite',
    ...options({
      bundle: values.bundle,
      'identity-token-file': written('token', values['identity-token'] ?? ''),
      'trusted-root': values['trusted-root'],
      ...said,
      ...servicesOf(values['signing-config']),
    }),
  );
}

/** The newest service of each kind that we speak with (protobuf-specs, SigningConfig). */
function servicesOf(file) {
  if (file === undefined) return {};
  const { caUrls = [], rekorTlogUrls = [], tsaUrls = [] } = JSON.parse(readFileSync(file, 'utf8'));
  const newest = (services, versions) =>
    services
      .filter(({ majorApiVersion }) => versions.includes(majorApiVersion))
      .filter(({ validFor }) => validFor?.end === undefined || new Date(validFor.end) > new Date())
      .sort((a, b) => b.majorApiVersion - a.majorApiVersion)[0];
  const log = newest(rekorTlogUrls, [1, 2]);
  return {
    'fulcio-url': newest(caUrls, [1])?.url,
    'rekor-url': log?.url,
    'rekor-version': log === undefined ? undefined : String(log.majorApiVersion),
    // The configuration has the whole address, and the client adds the path itself.
    'timestamp-url': newest(tsaUrls, [1])?.url.replace(/\/api\/v1\/timestamp\/?$/, ''),
  };
}

try {
  const [command, artifact, ...more] = positionals;
  if (artifact === undefined || more.length > 0) ends('a command and an artifact are wanted');
  // Its trusted root changes, and nothing here asks a network for one.
  else if (values.staging === true && values['trusted-root'] === undefined) {
    ends('the staging instance is known here by --trusted-root only');
  } else if (command === 'verify-bundle') verify(artifact);
  else if (command === 'sign-bundle') sign(artifact);
  else ends(`${command} is not a command of the protocol`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
