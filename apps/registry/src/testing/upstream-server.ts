import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Digest, sha256 } from '@krmhub/schema';
import { SIGNATURE_PREDICATE, type Statement, snapshotStatement } from '@krmhub/signing';
import { signedBy, type TestKey } from './signing.js';

/** An upstream server on this machine that serves what a test puts there; for tests. */
export interface TestUpstream {
  /** `http://127.0.0.1:PORT` */
  origin: string;
  /** Files by path. A missing one is a 404. */
  files: Map<string, Uint8Array | string>;
  /** Requested paths, and whether the response was 304. */
  requests: { path: string; unchanged: boolean }[];
  /** Handles every request if set. */
  misbehave: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  close(): Promise<void>;
}

export async function startUpstream(): Promise<TestUpstream> {
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    if (upstream.misbehave !== undefined) {
      upstream.requests.push({ path, unchanged: false });
      upstream.misbehave(request, response);
      return;
    }
    const file = upstream.files.get(path);
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    const etag = `"${sha256(file)}"`;
    const unchanged = request.headers['if-none-match'] === etag;
    upstream.requests.push({ path, unchanged });
    if (unchanged) response.writeHead(304, { etag }).end();
    else response.writeHead(200, { etag, 'Content-Type': 'application/yaml' }).end(file);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const upstream: TestUpstream = {
    origin: `http://127.0.0.1:${port}`,
    files: new Map(),
    requests: [],
    misbehave: undefined,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return upstream;
}

/** Returns a catalog whose entries differ by their descriptions. */
export function catalogText(entries: Record<string, string>, group = 'up.example.com'): string {
  const entry = ([kind, description]: [string, string]) => `  - group: ${group}
    names: {kind: ${kind}}
    description: ${JSON.stringify(description)}
    publisher: Upstream Co
    versions:
    - name: v1
      schema:
        openAPIV3Schema: {type: object, properties: {name: {type: string}}}
      idempotent: true
      runtime: {container: {image: registry.example.com/${kind.toLowerCase()}, sha256: ${'b'.repeat(64)}}}
      usage: https://example.com/usage.md
      examples: [https://example.com/example.yaml]
      license: Apache-2.0
`;
  const list = Object.entries(entries).map(entry).join('');
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: theirs}
spec:
  krmFunctions:${list === '' ? ' []' : `\n${list}`}
`;
}

/** Returns the bundle that a krmhub registry makes for a snapshot with this catalog.yaml. */
export function snapshotBundle(
  key: TestKey,
  text: string,
  { serial, expires, catalog = 'theirs' }: { serial: number; expires: string; catalog?: string },
): Promise<Uint8Array> {
  const claim = { catalog, serial, previous: null, expires };
  return signedBy(key, snapshotStatement(claim, { 'catalog.yaml': sha256(text) }));
}

/** Returns a signature that contains only a digest. */
export function plainBundle(key: TestKey, digest: Digest): Promise<Uint8Array> {
  const statement: Statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ digest: { sha256: digest.slice('sha256:'.length) } }],
    predicateType: SIGNATURE_PREDICATE,
    predicate: {},
  };
  return signedBy(key, statement);
}
