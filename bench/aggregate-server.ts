import { setTimeout } from 'node:timers/promises';
import { fillPath } from '@krmhub/api/paths';
import { get } from './catalog-resources.js';
import { timed } from './measure.js';
import { newestSnapshot, type Server, startServer } from './server.js';
import type { SyntheticEntry } from './synthetic/catalogs.js';
import type { Tools } from './tools.js';
import type { Upstreams } from './upstreams.js';

export const CATALOG = 'merged';
/** Pause between two requests for a snapshot: frequent requests slow the build down. */
const POLL_MILLISECONDS = 10;
const DEADLINE_MILLISECONDS = 900_000;

/** Milliseconds until the snapshot was served, and how many of them the build took. */
export interface Step {
  whole: number;
  build: number;
}

/** A registry with a catalog that takes all its entries from upstreams. */
export class AggregateServer {
  readonly server: Server;
  readonly #upstreams: Upstreams;
  #recipes = 0;

  private constructor(server: Server, upstreams: Upstreams) {
    this.server = server;
    this.#upstreams = upstreams;
  }

  static async start(tools: Tools, folder: string, upstreams: Upstreams): Promise<AggregateServer> {
    const env = { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' };
    return new AggregateServer(await startServer(tools, folder, { core: 'any', env }), upstreams);
  }

  /** Applies a new recipe and waits for its first snapshot. */
  async apply(functions: number): Promise<Step> {
    const before = await newestSnapshot(this.server, CATALOG).catch(() => undefined);
    return this.#step(async () => {
      await this.#request('PUT', fillPath('catalog', { name: CATALOG }), this.#recipe());
      await until(async () => {
        const newest = await newestSnapshot(this.server, CATALOG);
        return newest !== undefined && newest.serial !== before?.serial && newest.functions === functions;
      });
    });
  }

  /** Refreshes an upstream and waits until the catalog's entry of one of its functions has the marker. */
  async refresh(number: number, { group, kind }: SyntheticEntry, marker: string): Promise<Step> {
    const target = fillPath('refreshSource', { name: CATALOG, source: sourceName(number) });
    const entry = this.server.url + fillPath('catalogEntry', { name: CATALOG, group, kind });
    return this.#step(async () => {
      await this.#request('POST', target);
      await until(async () => (await get(entry)).bytes.includes(marker));
    });
  }

  /** Waits until search shows the newest snapshot. */
  async settle(): Promise<void> {
    const headers = { Authorization: `Bearer ${this.server.token}` };
    await until(async () => {
      const answer = await fetch(this.server.url + fillPath('cut', { name: CATALOG }), {
        method: 'POST',
        headers,
      });
      const text = await answer.text();
      // It may take longer than one response may.
      if (!answer.ok && answer.status !== 503) throw new Error(`a build of ${CATALOG}: ${text}`);
      return answer.ok;
    });
  }

  async #step(work: () => Promise<void>): Promise<Step> {
    const before = await this.#buildSeconds();
    const whole = await timed(work);
    // A build is counted after its snapshot is served.
    await this.settle();
    return { whole, build: ((await this.#buildSeconds()) - before) * 1_000 };
  }

  /** Total of all builds since the start. */
  async #buildSeconds(): Promise<number> {
    const text = await this.#request('GET', fillPath('metrics', {}));
    return Number(/^krmhub_cut_duration_seconds_sum (\S+)/m.exec(text)?.[1] ?? 0);
  }

  async #request(method: string, path: string, body?: string): Promise<string> {
    const headers = { Authorization: `Bearer ${this.server.token}`, 'Content-Type': 'application/yaml' };
    const init = { method, headers, ...(body === undefined ? {} : { body }) };
    const answer = await fetch(this.server.url + path, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  }

  #recipe(): string {
    const sources = this.#upstreams.urls.map(
      (url, number) => `  - name: ${sourceName(number)}\n    catalog: {url: '${url}', refresh: 24h}\n`,
    );
    const labels = `{recipe: '${++this.#recipes}'}`;
    return `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata:\n  name: ${CATALOG}\n  labels: ${labels}\nspec:\n  sources:\n${sources.join('')}`;
  }
}

function sourceName(number: number): string {
  return `upstream-${number}`;
}

async function until(isThere: () => Promise<boolean>): Promise<void> {
  const started = performance.now();
  while (!(await isThere())) {
    if (performance.now() - started > DEADLINE_MILLISECONDS) throw new Error(`${CATALOG} was not built`);
    await setTimeout(POLL_MILLISECONDS);
  }
}
