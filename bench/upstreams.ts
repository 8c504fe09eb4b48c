import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { benchFile } from './built.js';
import { startProcess } from './processes.js';
import { SyntheticCatalog } from './synthetic/catalogs.js';
import { onCore, type Tools } from './tools.js';

const MAX_UPSTREAMS = 20;

/** Upstream catalogs on this machine, served by a separate process. */
export interface Upstreams {
  catalogs: SyntheticCatalog[];
  urls: string[];
  /** Of all catalogs together. */
  bytes: number;
  /** Changes the first `count` entries of one catalog, or of all; resolves once the server serves them. */
  change(number: number | 'all', entries: number): Promise<{ marker: string }>;
  stop(): Promise<void>;
}

export async function startUpstreams(tools: Tools, folder: string, functions: number): Promise<Upstreams> {
  const count = Math.min(MAX_UPSTREAMS, functions);
  const catalogs = Array.from({ length: count }, (_, number) => {
    const share = Math.floor(((number + 1) * functions) / count) - Math.floor((number * functions) / count);
    return new SyntheticCatalog(number, share);
  });
  const put = async (number: number): Promise<number> => {
    const text = catalogs[number]!.text();
    // A rename, so that the server never reads half a file.
    await writeFile(path.join(folder, 'next'), text);
    await rename(path.join(folder, 'next'), path.join(folder, `${number}.yaml`));
    return Buffer.byteLength(text);
  };
  let bytes = 0;
  for (const number of catalogs.keys()) bytes += await put(number);
  const started = await startProcess(
    onCore(tools, 'any', [process.execPath, benchFile('upstream-server.js'), folder, String(count)]),
    { output: path.join(folder, 'upstreams.log'), until: /listening on ([\d,]+)\./ },
  );
  return {
    catalogs,
    urls: started.match[1]!.split(',').map((port) => `http://127.0.0.1:${port}/catalog.yaml`),
    bytes,
    async change(number, entries) {
      let changed = { marker: '' };
      for (const one of number === 'all' ? catalogs.keys() : [number]) {
        changed = catalogs[one]!.change(entries);
        await put(one);
      }
      return changed;
    },
    stop: () => started.stop(),
  };
}
