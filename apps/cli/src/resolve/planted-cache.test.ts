import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { writeEntryIndex } from '@krmhub/catalog/resolve/entries/entry-index';
import { splitEntries } from '@krmhub/catalog/resolve/entries/split-entries';
import { Cache } from '@krmhub/consume/cache/cache';
import { RecordKey, recordKeyFile } from '@krmhub/consume/cache/record-key';
import type { RecordKind } from '@krmhub/consume/cache/record-kinds';
import { type Digest, sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { VERSION } from '../io/version.js';
import { expectEnd, runTest } from '../testing/command-line.js';
import { GROUP, proxiedRegistry } from '../testing/proxied-registry.js';

/**
 * A pipeline restores a cache that somebody else could write. Each planted file is as `krmhub` would have written it if
 * the catalog had another image, with the validators of the real catalog. With the key of the user it counts, so that
 * the test knows that the file is as it must be; without that, what the server has counts.
 */
const GOOD = 'a'.repeat(64);
const EVIL = 'e'.repeat(64);

const opened = proxiedRegistry();
let server: Server;
let web: string;
let catalog: Buffer;

beforeAll(async () => {
  await opened.publish('SetLabels', '1.0.0');
  catalog = Buffer.from(
    await (await fetch(`${opened.registry.url}/catalogs/default/catalog.yaml`)).arrayBuffer(),
  );
  const etag = '"v1"';
  server = createServer((request, response) => {
    if (request.url !== '/catalog.yaml') return response.writeHead(404).end();
    if (request.headers['if-none-match'] === etag) return response.writeHead(304, { etag }).end();
    return response.writeHead(200, { etag }).end(catalog);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  web = `http://127.0.0.1:${(server.address() as AddressInfo).port}/catalog.yaml`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const evil = (bytes: Uint8Array) => Buffer.from(Buffer.from(bytes).toString().replaceAll(GOOD, EVIL));
const readAll = (folder: string) =>
  readdir(folder).then(
    (names) => Promise.all(names.map((name) => readFile(path.join(folder, name)))),
    () => [],
  );

/** What an attacker changes in the cache of another machine, with the records signed by a key. */
class Attacker {
  readonly cache: Cache;

  constructor(folder: string, key: RecordKey) {
    this.cache = new Cache(folder, { now: () => new Date(), version: VERSION }, key);
  }

  async records(kind: RecordKind): Promise<Record<string, unknown>[]> {
    const files = await readAll(path.join(this.cache.folder, kind));
    return files.map((file) => JSON.parse(file.toString()) as Record<string, unknown>);
  }

  async evilBlobs(): Promise<Map<Digest, Buffer>> {
    const blobs = await readAll(path.join(this.cache.folder, 'blobs', 'sha256'));
    const found = new Map<Digest, Buffer>();
    for (const blob of blobs.filter((one) => one.includes(GOOD))) {
      await this.cache.writeBlob(evil(blob));
      found.set(sha256(blob), evil(blob));
    }
    return found;
  }

  async plant(what: Planted): Promise<void> {
    const blobs = await this.evilBlobs();
    const write = ({ proof: _, name, ...record }: Record<string, unknown>, kind: RecordKind) =>
      this.cache.writeRecord(kind, String(name), record);
    if (what === 'catalogs') {
      for (const record of await this.records('catalogs')) {
        const other = blobs.get(record.digest as Digest);
        if (other === undefined) continue;
        await write({ ...record, digest: sha256(other), size: other.byteLength }, 'catalogs');
      }
    }
    if (what === 'entries') {
      for (const record of await this.records('entries')) {
        const value = JSON.parse(JSON.stringify(record.value).replaceAll(GOOD, EVIL)) as unknown;
        await write({ ...record, value, check: sha256(JSON.stringify(value)) }, 'entries');
      }
    }
    const index = async (document: Digest, bytes: Uint8Array) => {
      await this.cache.writeBlob(bytes);
      const { form, entries } = splitEntries(bytes)!;
      const rows = entries.map((entry) => ({
        ...entry,
        digest: sha256(bytes.subarray(entry.offset, entry.offset + entry.length)),
      }));
      const source = { program: VERSION, document, entries: sha256(bytes), form };
      const written = writeEntryIndex(source, rows);
      await this.cache.writeIndex(document, written);
      const header = /sha256:[a-f0-9]{64}/.exec(Buffer.from(written).toString())![0];
      await this.cache.writeRecord('indexes', document, { header });
    };
    if (what === 'index') await index(sha256(catalog), evil(catalog));
    if (what === 'files') {
      const document = sha256(Buffer.from('no document'));
      await index(document, evil(catalog));
      for (const record of await this.records('files')) await write({ ...record, digest: document }, 'files');
    }
  }
}

type Planted = 'catalogs' | 'entries' | 'index' | 'files';
const READS = {
  'a catalog of a registry': { reference: () => opened.catalogUrl(), planted: ['catalogs', 'entries'] },
  'a catalog of a registry with a pinned key': {
    reference: () => `${opened.registry.url}/catalogs/default`,
    isPinned: true,
    planted: ['entries', 'index'],
  },
  'an artifact': {
    reference: () => `oci://${new URL(opened.registry.url).host}/catalogs/default:latest`,
    planted: ['catalogs', 'entries', 'index'],
  },
  'a catalog of a web server': { reference: () => web, planted: ['catalogs', 'entries', 'index'] },
  'a file': { reference: () => 'catalog.yaml', planted: ['files', 'entries', 'index'] },
} satisfies Record<string, { reference: () => string; isPinned?: true; planted: Planted[] }>;

const CASES = Object.entries(READS).flatMap(([name, read]) =>
  read.planted.map((planted) => [planted, name, read] as const),
);

it.each(CASES)('a planted file of the kind %s does not change what %s has', async (planted, _, read) => {
  const { registry, folder } = opened;
  const isPinned = 'isPinned' in read;
  const cache = path.join(folder, 'cache');
  const env = (user: string) => ({ HOME: path.join(folder, user), KRMHUB_CACHE: cache });
  await mkdir(path.join(folder, 'package'));
  // Written some time ago: the digest of a file that was just written is not stored.
  await writeFile(path.join(folder, 'package', 'catalog.yaml'), catalog);
  const now = () => new Date(Date.now() + 60_000);
  const run = (args: string[], user: string) =>
    runTest(args, { cwd: path.join(folder, 'package'), env: env(user), now });
  const resolved = async (user: string): Promise<string> => {
    const args = ['resolve', `${GROUP}/v1`, 'SetLabels', '-c', read.reference(), '-o', 'json'];
    const io = await run(args, user);
    expectEnd(io, 0);
    return JSON.parse(io.out()).runtime.image as string;
  };
  for (const user of ['mallory', 'alice']) {
    if (!isPinned) continue;
    const { keys } = (await opened.client.registryKeys()) as { keys: { publicKey: string }[] };
    await writeFile(path.join(folder, 'registry.pub'), keys[0]!.publicKey);
    const url = `${registry.url}/catalogs/default`;
    expectEnd(await run(['trust', 'add', url, '--key', path.join(folder, 'registry.pub')], user), 0);
  }
  expect(await resolved('mallory')).toContain(GOOD);
  const key = new RecordKey(recordKeyFile({ env: env('mallory') }));
  await new Attacker(cache, key).plant(planted);
  const copy = path.join(folder, 'copy');
  await cp(cache, copy, { recursive: true });
  expect(await resolved('alice')).toContain(GOOD);
  // As often as she wants: what her own commands store is right.
  expect(await resolved('alice')).toContain(GOOD);
  // Where the attacker has the key, the file is believed.
  await cp(copy, cache, { recursive: true });
  expect(await resolved('mallory')).toContain(EVIL);
});
