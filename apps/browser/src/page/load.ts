import { defined } from '@krmhub/schema/defined';
import type { TryItData, TryItScript } from '@krmhub/schema/documents/try-it';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** What the page has loaded: from then on, it needs no network. */
export interface Loaded {
  data: TryItData;
  run?: { script: Uint8Array; code: string; schemas?: string };
}

/** Loads the data of a function from this registry, and all that it needs to run. Rejects with an Error for people. */
export async function load(path: string): Promise<Loaded> {
  const data = (await (await request(path)).json()) as TryItData;
  const { script, files } = data;
  if (script === undefined) return { data };
  const [bytes, code] = await Promise.all([
    loadScript(script),
    request(files.run).then((found) => found.text()),
  ]);
  // Most scripts do not read them, and they are larger than all else.
  const needsSchemas = new TextDecoder().decode(bytes).includes('open_api');
  const schemas = needsSchemas ? await request(files.schemas).then((found) => found.text()) : undefined;
  return { data, run: { script: bytes, code, ...defined({ schemas }) } };
}

/** A script with other bytes than the release has does not run. `crypto.subtle` does not exist on plain http. */
async function loadScript({ path, digest }: TryItScript): Promise<Uint8Array> {
  const bytes = new Uint8Array(await (await request(path)).arrayBuffer());
  if (`sha256:${bytesToHex(sha256(bytes))}` === digest) return bytes;
  throw new Error('The script that the registry sent is not the one of this release: its digest differs.');
}

async function request(path: string): Promise<Response> {
  const response = await fetch(path).catch(() => undefined);
  if (response?.ok === true) return response;
  const reason = response === undefined ? 'the registry does not respond' : `status ${response.status}`;
  throw new Error(`Cannot load ${path}: ${reason}. Reload the page.`);
}
