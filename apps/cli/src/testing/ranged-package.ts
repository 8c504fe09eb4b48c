import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CatalogReleases } from '@krmhub/api/model';
import { defined } from '@krmhub/schema/defined';
import { runTest, type TestIo } from './command-line.js';
import { GROUP, type ProxiedRegistry, proxiedRegistry } from './proxied-registry.js';

export type ListedRelease = CatalogReleases['functions'][number]['releases'][number];
type Run = TestIo & { said: string };

/** A package with one functionConfig, in the folder of a user of a registry, and the commands that lock it. */
export interface RangedPackage {
  opened: ProxiedRegistry;
  /** Path of a file of the package. */
  file(name: string): string;
  lockText(): Promise<string>;
  /** The locked release. */
  locked(): Promise<string | undefined>;
  run(args: readonly string[], now?: Date): Promise<Run>;
  /** `lock` and `explain` with trust in the catalog. */
  lock(...args: string[]): Promise<Run>;
  explain(...args: string[]): Promise<Run>;
  /** What would run. */
  runs(...args: string[]): Promise<{ release?: string; state: string }>;
  settings(text: string): Promise<void>;
  pack(kind: string, more?: { range?: string; catalogs?: string[] }): Promise<void>;
  publish(kind: string, ...releases: string[]): Promise<void>;
  /** Changes what the registry says of the history of its catalog. */
  lie(change: (releases: ListedRelease[]) => void): void;
  /** Pins the key of the registry. */
  pin(): Promise<void>;
}

/** Opens it for the tests of a file. */
export function rangedPackage(): RangedPackage {
  const opened = proxiedRegistry();
  const file = (name: string) => path.join(opened.folder, 'app', name);
  const lockText = () => readFile(file('krmhub.lock'), 'utf8');
  const run: RangedPackage['run'] = async (args, now) => {
    const clock = now === undefined ? undefined : () => now;
    const io = await runTest(args, { cwd: opened.folder, env: opened.env(), ...defined({ now: clock }) });
    return { ...io, exitCode: io.exitCode, said: io.out() + io.err() };
  };
  const trust = () => ['--trusted-catalog', opened.catalogUrl()];
  const explain = (...args: string[]) => run(['explain', 'app', ...trust(), ...args]);
  return {
    opened,
    file,
    lockText,
    locked: async () => /release: "(.*)"/.exec(await lockText())?.[1],
    run,
    lock: (...args) => run(['lock', 'app', ...trust(), ...args]),
    explain,
    runs: async (...args) => JSON.parse((await explain('-o', 'json', ...args)).out()).functions[0],
    async settings(text) {
      const head = 'apiVersion: krmhub.dev/v1alpha1\nkind: PackageSettings\n';
      await writeFile(file('krmhub.yaml'), head + text);
    },
    async pack(kind, { range, catalogs = [opened.catalogUrl()] } = {}) {
      await rm(path.join(opened.folder, 'app'), { recursive: true, force: true });
      await mkdir(path.join(opened.folder, 'app'));
      const kustomization = `catalogs: ${JSON.stringify(catalogs)}\ntransformers: [fn.yaml]\n`;
      await writeFile(file('kustomization.yaml'), kustomization);
      const annotations = range === undefined ? '' : `, annotations: {krmhub.dev/release: "${range}"}`;
      const config = `apiVersion: ${GROUP}/v1\nkind: ${kind}\nmetadata: {name: fn${annotations}}\n`;
      await writeFile(file('fn.yaml'), config);
    },
    async publish(kind, ...releases) {
      for (const release of releases) await opened.publish(kind, release);
    },
    lie(change) {
      opened.proxy.intercept = (request, response) => {
        if (request.url?.endsWith('/releases') !== true || request.method !== 'POST') return false;
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', async () => {
          const headers = { 'Content-Type': 'application/json' };
          const asked = { method: 'POST', headers, body: Buffer.concat(chunks) };
          const answer = await fetch(opened.registry.url + request.url, asked);
          const body = (await answer.json()) as CatalogReleases;
          change(body.functions[0]!.releases);
          response.writeHead(200, headers).end(JSON.stringify(body));
        });
        return true;
      };
    },
    async pin() {
      const { keys } = await opened.client.registryKeys();
      await writeFile(path.join(opened.folder, 'registry.pub'), keys[0]!.publicKey);
      const io = await run(['trust', 'add', opened.catalogUrl(), '--key', 'registry.pub']);
      if (io.exitCode !== 0) throw new Error(io.said);
    },
  };
}
