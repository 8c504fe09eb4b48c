import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { readSourceAddress } from '@krmhub/catalog';
import { readPublicKey, sha256 } from '@krmhub/schema';
import { verifySnapshot } from '@krmhub/signing';
import { type FetchedCatalog, SourceFetcher } from '@krmhub/sources';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { krmhubHere } from '../run-here.js';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/**
 * One registry is the source of another: its catalogs and signatures are found over HTTP and as artifacts.
 */

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;
const fetcher = new SourceFetcher({
  userAgent: 'krmhub/test',
  allowedAddresses: ['127.0.0.1'],
  protocols: [],
  temporaryFolder: folder,
});

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  await publish('1.0.0');
});
afterAll(async () => {
  await registry.stop();
  remove();
});

async function publish(release: string): Promise<void> {
  const home = path.join(folder, 'home');
  mkdirSync(home, { recursive: true });
  const file = path.join(fixtures, `functions/set-labels/${release}.yaml`);
  const { code, stderr } = await krmhubHere(['publish', file, '--allow-breaking'], {
    cwd: home,
    env: registry.env,
  });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
}

function fetchFrom(url: string, validators?: Record<string, string>): Promise<FetchedCatalog> {
  const read = readSourceAddress(url);
  if (!read.ok) throw new Error(read.reason);
  return fetcher.fetch({ address: read.address, bundles: true, ...(validators && { validators }) });
}

/** The digests that the first bundle signs. */
async function signedDigests({ bundles }: FetchedCatalog): Promise<string[]> {
  const keys = await (await fetch(`${registry.url}/.well-known/krmhub-keys.json`)).json();
  const [key] = (keys as { keys: { publicKey: string }[] }).keys;
  const { signed } = verifySnapshot(bundles[0]!, [readPublicKey(key!.publicKey, 'the registry')]);
  return [...signed!.digests.values()];
}

it.each([
  ['http', () => `${registry.url}/catalogs/default/catalog.yaml`],
  ['OCI', () => `oci://${new URL(registry.url).host}/catalogs/default:latest`],
])('finds a catalog and its signature by %s, and detects changes', async (_, url) => {
  const first = await fetchFrom(url());
  const text = Buffer.from(first.bytes!).toString();
  expect(text).toContain('SetLabels');
  expect(text).toBe(await (await fetch(`${registry.url}/catalogs/default/catalog.yaml`)).text());
  expect(await signedDigests(first)).toContain(sha256(first.bytes!));
  if (first.manifest !== undefined) expect(await signedDigests(first)).toContain(first.manifest);

  const second = await fetchFrom(url(), first.validators);
  expect(second.bytes).toBeUndefined();
  expect(await signedDigests(second)).toContain(sha256(first.bytes!));

  await publish(url().startsWith('oci') ? '2.0.0' : '1.1.0');
  let third = await fetchFrom(url(), first.validators);
  // A process that did not publish it shows it some milliseconds later.
  const change = async () => {
    if (third.bytes === undefined) third = await fetchFrom(url(), first.validators);
    return third.bytes;
  };
  await expect.poll(change).toBeDefined();
  expect(await signedDigests(third)).toContain(sha256(third.bytes!));
});
