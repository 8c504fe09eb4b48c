import { request } from 'node:http';
import type { FilledFolder } from './folders.js';
import type { HttpResource } from './peer-http.js';
import { applyRecipe, type Server } from './server.js';

/** Sizes of catalogs in bytes, by catalog name. */
export const CATALOGS = { small: 6_000, medium: 64_000, large: 645_000 } as const;
export type CatalogSize = keyof typeof CATALOGS;

/** The size of the smallest registries: a catalog cannot have fewer functions. */
const MAX_FUNCTIONS = 400;

export const catalogPath = (name: string): string => `/catalogs/${name}/catalog.yaml`;

interface FetchedResponse {
  status: number;
  headers: Record<string, string>;
  bytes: Buffer;
}

/** A GET without headers or decoding that a client adds by itself. */
export function get(url: string, headers: Record<string, string> = {}): Promise<FetchedResponse> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, agent: false }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('error', reject);
      answer.on('end', () => {
        const given = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
        resolve({
          status: answer.statusCode ?? 0,
          headers: Object.fromEntries(given),
          bytes: Buffer.concat(parts),
        });
      });
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** Makes catalogs of about these sizes from functions of the registry, and returns the response for each. */
export async function makeCatalogs(
  server: Server,
  { corpus }: FilledFolder,
  sizes: readonly CatalogSize[],
): Promise<HttpResource[]> {
  const names = corpus.names.slice(0, MAX_FUNCTIONS);
  const lengths: number[] = [];
  for (const { group, kind } of names) {
    const sum = lengths.at(-1) ?? 0;
    if (sum > Math.max(...sizes.map((size) => CATALOGS[size]))) break;
    lengths.push(sum + (await newestDefinitionLength(server, group, kind)));
  }
  const resources: HttpResource[] = [];
  for (const size of sizes) {
    const enough = lengths.findIndex((length) => length >= CATALOGS[size]);
    const chosen = names.slice(0, Math.max(1, enough === -1 ? names.length : enough));
    const selectors = chosen.map(({ group, kind }) => `    - {group: ${group}, kind: ${kind}}\n`).join('');
    await applyRecipe(
      server,
      size,
      `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata:\n  name: ${size}\nspec:\n  sources:\n  - name: registry\n    functions: {}\n    match:\n${selectors}`,
    );
    resources.push(await toResource(server, catalogPath(size)));
  }
  return resources;
}

async function toResource({ url }: Server, path: string): Promise<HttpResource> {
  const plain = await get(url + path, { 'Accept-Encoding': 'identity' });
  if (plain.status !== 200) throw new Error(`${path}: ${plain.status} ${plain.bytes.subarray(0, 500)}`);
  const zipped = await get(url + path, { 'Accept-Encoding': 'gzip' });
  if (zipped.headers['content-encoding'] !== 'gzip') throw new Error(`${path} is not compressed`);
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...headers } = plain.headers;
  return {
    path,
    headers,
    identity: plain.bytes.toString('base64'),
    gzip: zipped.bytes.toString('base64'),
  };
}

async function newestDefinitionLength({ url }: Server, group: string, kind: string): Promise<number> {
  const answer = await get(`${url}/api/v1/functions/${group}/${kind}`);
  const { releases } = JSON.parse(answer.bytes.toString()) as { releases: { size: number }[] };
  return releases[0]!.size;
}
