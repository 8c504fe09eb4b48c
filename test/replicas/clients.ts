import { setTimeout as sleep } from 'node:timers/promises';
import { ArtifactClient } from './artifact-client.js';
import { CatalogClient } from './catalog-client.js';
import type { History } from './history.js';
import { ReleaseClient } from './release-client.js';
import { Requests, type Target } from './requests.js';
import { TokenClient } from './token-client.js';
import { COLLECTED, UpstreamClient } from './upstream-client.js';

/** Bounds the requests of a second, so that several registries on one machine respond in time. */
const BETWEEN_REQUESTS_MS = 200;

export interface ClientOptions {
  targets: readonly Target[];
  token: string;
  history: History;
  /** From 0 to 1. */
  random: () => number;
}

/** Clients that share what they know of a registry, and record what they ask and see. They repeat nothing. */
export class Clients {
  readonly requests: Requests;
  readonly releases: ReleaseClient;
  readonly catalog: CatalogClient;
  readonly tokens: TokenClient;
  readonly artifacts: ArtifactClient;
  readonly collected: CatalogClient;
  readonly upstream: UpstreamClient;
  readonly #steps: readonly [part: number, step: () => Promise<unknown>][];

  private constructor(requests: Requests, history: History, upstream: UpstreamClient) {
    this.requests = requests;
    const releases = new ReleaseClient(requests, history);
    const catalog = new CatalogClient('default', requests, history);
    const collected = new CatalogClient(COLLECTED, requests, history);
    const tokens = new TokenClient(requests, history);
    const artifacts = new ArtifactClient(requests, history);
    this.releases = releases;
    this.catalog = catalog;
    this.collected = collected;
    this.tokens = tokens;
    this.artifacts = artifacts;
    this.upstream = upstream;
    this.#steps = [
      [180, () => releases.publish()],
      [60, () => releases.yank()],
      [5, () => releases.takeDown()],
      [200, () => releases.readAny()],
      [180, () => catalog.readNewest(requests.any())],
      [80, () => catalog.readSerial(requests.any())],
      [50, () => tokens.useNew()],
      [60, () => artifacts.push()],
      [80, () => artifacts.pullAny()],
      [25, () => upstream.change()],
      [30, () => upstream.sync()],
      [50, () => collected.readNewest(requests.any())],
    ];
  }

  static async start({ history, ...options }: ClientOptions): Promise<Clients> {
    const requests = new Requests(options);
    return new Clients(requests, history, await UpstreamClient.start(requests, history));
  }

  /** `count` clients send requests until `work` has ended. */
  async during(count: number, work: () => Promise<void>): Promise<void> {
    let ended = false;
    const clients = Array.from({ length: count }, async () => {
      while (!ended) {
        await this.#step();
        await sleep(2 * this.requests.random() * BETWEEN_REQUESTS_MS);
      }
    });
    try {
      await work();
    } finally {
      ended = true;
      await Promise.all(clients);
    }
  }

  /** Reads a part of everything from a process. */
  async readSome(target: Target, count: number): Promise<void> {
    await this.releases.readSome(target, count);
    for (let at = 0; at < count; at++) await this.catalog.readSerial(target);
    await this.catalog.readNewest(target);
    await this.collected.readNewest(target);
  }

  /** Reads everything that was stored from a process. */
  async readAll(target: Target): Promise<void> {
    await this.releases.readAll(target);
    await this.catalog.readAll(target);
    await this.collected.readAll(target);
    await this.tokens.readAll(target);
    await this.artifacts.readAll(target);
  }

  close(): Promise<void> {
    return this.upstream.close();
  }

  /** One request, or a few that depend on each other, to random processes. */
  async #step(): Promise<void> {
    let chosen = this.requests.random() * this.#steps.reduce((sum, [part]) => sum + part, 0);
    for (const [part, step] of this.#steps) {
      chosen -= part;
      if (chosen < 0) return void (await step());
    }
  }
}
