import type { Source } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { sha256 } from '@krmhub/schema';
import {
  catalogText,
  startUpstream,
  type TestUpstream,
} from '../../apps/registry/src/testing/upstream-server.js';
import type { History } from './history.js';
import type { Requests } from './requests.js';

export const COLLECTED = 'collected';
const SOURCE = 'elsewhere';
const FILE = '/catalog.yaml';
const RECIPE = (url: string) => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${COLLECTED}}
spec: {sources: [{name: ${SOURCE}, catalog: {url: '${url}'}}]}
`;
/** Longer than a request waits for a sync and a build. */
const SYNC_MS = 90_000;

/** Changes an upstream catalog, and syncs it. */
export class UpstreamClient {
  readonly #requests: Requests;
  readonly #history: History;
  readonly #upstream: TestUpstream;
  readonly #versions = new Map<string, number>();
  #version = 0;

  private constructor(requests: Requests, history: History, upstream: TestUpstream) {
    this.#requests = requests;
    this.#history = history;
    this.#upstream = upstream;
  }

  /** Applies a recipe with an upstream of this process. */
  static async start(requests: Requests, history: History): Promise<UpstreamClient> {
    const client = new UpstreamClient(requests, history, await startUpstream());
    await client.change();
    const applied = await requests.ask(requests.any(), fillPath('catalog', { name: COLLECTED }), {
      method: 'PUT',
      body: RECIPE(client.#upstream.origin + FILE),
      headers: { 'content-type': 'application/yaml' },
      allowed: [201],
      milliseconds: SYNC_MS,
    });
    if (applied.status !== 201)
      throw new Error(`the recipe is not applied: ${applied.status} ${applied.text}`);
    return client;
  }

  /** The version that the upstream serves. */
  get version(): number {
    return this.#version;
  }

  async change(): Promise<void> {
    await this.#history.record('upstream', async () => {
      const version = ++this.#version;
      const entries = ['Alpha', 'Beta', 'Gamma'].map((kind) => [kind, `It is served as version ${version}.`]);
      const text = catalogText(Object.fromEntries(entries));
      this.#versions.set(sha256(text), version);
      this.#upstream.files.set(FILE, text);
      return { do: 'upstream', catalog: COLLECTED, version };
    });
  }

  /** Returns whether it succeeded. */
  async sync(target = this.#requests.any()): Promise<boolean> {
    const done = await this.#history.record(target.name, async () => {
      const { status, text } = await this.#requests.ask(
        target,
        fillPath('refreshSource', { name: COLLECTED, source: SOURCE }),
        { method: 'POST', allowed: [200], milliseconds: SYNC_MS },
      );
      const source = status === 200 ? (JSON.parse(text) as Source) : undefined;
      if (source?.state !== 'current') return undefined;
      const version = this.#versions.get(source.copy?.digest ?? '');
      if (version === undefined) this.#requests.wrong.push(`a sync stored what no upstream has: ${text}`);
      return version === undefined ? undefined : { do: 'sync', catalog: COLLECTED, version };
    });
    return done !== undefined;
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }
}
