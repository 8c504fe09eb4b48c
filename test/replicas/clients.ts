import { setTimeout as sleep } from 'node:timers/promises';
import { sha256 } from '@krmhub/schema';
import { definition, LARGE, releasePath } from '../faults/workload.js';
import type { ChangeOutcome, History, Operation } from './history.js';

/** A process to ask. */
export interface Target {
  name: string;
  url: string;
}

/** Statuses that a client must be able to get from any process at any time. */
const ALLOWED = new Set([200, 201, 401, 404, 409, 503, 507]);
/** Milliseconds after which a client gives up: a process may be stopped. */
const PATIENCE_MS = 60_000;
const BETWEEN_REQUESTS_MS = 20;
const FUNCTIONS = 6;
const CATALOG = 'default';

/** Numbers from 0 to 1 that a seed repeats. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface ClientOptions {
  targets: readonly Target[];
  token: string;
  history: History;
  /** From 0 to 1. */
  random: () => number;
}

/** Clients that share what they know of a registry, and record what they ask and see. They repeat nothing. */
export class Clients {
  /** Responses that no fault may cause. */
  readonly wrong: string[] = [];
  readonly #options: ClientOptions;
  /** Next release of each client's publishes: some releases are published by two clients at once. */
  #round = 0;
  #tokens: { id: string; secret: string }[] = [];
  #serial = 1;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** `count` clients send requests until `work` has ended. */
  async during(count: number, work: () => Promise<void>): Promise<void> {
    let ended = false;
    const clients = Array.from({ length: count }, async () => {
      while (!ended) {
        await this.step();
        await sleep(BETWEEN_REQUESTS_MS);
      }
    });
    try {
      await work();
    } finally {
      ended = true;
      await Promise.all(clients);
    }
  }

  /** One request, or a few that depend on each other, to random processes. */
  async step(): Promise<void> {
    const chosen = this.#options.random();
    if (chosen < 0.3) await this.#publish();
    else if (chosen < 0.5) await this.readRelease(this.#anyTarget(), this.#anyRelease());
    else if (chosen < 0.6) await this.#yank(this.#anyRelease());
    else if (chosen < 0.8) await this.readNewest(this.#anyTarget());
    else if (chosen < 0.9) {
      const serial = 1 + Math.floor(this.#options.random() * this.#serial);
      await this.readSerial(this.#anyTarget(), serial);
    } else await this.#useTokens();
  }

  /** Reads everything that was published, and every snapshot, from a process. */
  async readAll(target: Target): Promise<void> {
    for (let round = 0; round < this.#round; round++) await this.readRelease(target, this.#release(round));
    await this.readNewest(target);
    for (let serial = 1; serial <= this.#serial; serial++) await this.readSerial(target, serial);
    for (const { id, secret } of this.#tokens) await this.#use(target, id, secret);
  }

  /** Two clients publish the same release with other bytes, and other processes, at about the same time. */
  async #publish(): Promise<void> {
    const { random } = this.#options;
    const release = this.#release(this.#round++);
    const racers = random() < 0.4 ? 2 : 1;
    await Promise.all(
      Array.from({ length: racers }, (_, racer) => this.#publishOne(release, racer === 0 ? '' : 'other')),
    );
    // A client that does not know repeats its request.
    if (random() < 0.3) await this.#publishOne(release, '');
  }

  async #publishOne({ kind, release }: Release, remark: string): Promise<void> {
    const target = this.#anyTarget();
    const text = definition(kind, release, remark);
    // Some are blobs, and the others are rows.
    const body = this.#options.random() < 0.3 ? text + LARGE : text;
    const wait = this.#options.random() < 0.2 ? '?wait=true' : '';
    await this.#options.history.record(target.name, async () => {
      const response = await this.#ask(target, `${releasePath({ kind, release })}${wait}`, {
        method: 'PUT',
        body,
        headers: { 'content-type': 'application/yaml' },
      });
      const outcomes: Record<number, ChangeOutcome> = { 201: 'done', 200: 'same', 409: 'exists' };
      return {
        do: 'publish',
        release: `${kind}@${release}`,
        digest: sha256(body),
        outcome: outcomes[response.status] ?? 'unknown',
      };
    });
  }

  async #yank({ kind, release }: Release): Promise<void> {
    const target = this.#anyTarget();
    await this.#options.history.record(target.name, async () => {
      const { status } = await this.#ask(target, `${releasePath({ kind, release })}/yank`, {
        method: 'POST',
        body: JSON.stringify({ reason: 'a mistake' }),
        headers: { 'content-type': 'application/json' },
      });
      if (status === 404) return { do: 'read', release: `${kind}@${release}` };
      return { do: 'yank', release: `${kind}@${release}`, outcome: status === 200 ? 'done' : 'unknown' };
    });
  }

  async readRelease(target: Target, { kind, release }: Release): Promise<void> {
    const { history } = this.#options;
    const name = `${kind}@${release}`;
    await history.record(target.name, async (): Promise<Operation | undefined> => {
      const { status, text } = await this.#ask(target, `${releasePath({ kind, release })}/definition.yaml`);
      if (status === 404) return { do: 'read', release: name };
      return status === 200 ? { do: 'read', release: name, digest: sha256(text) } : undefined;
    });
    await history.record(target.name, async (): Promise<Operation | undefined> => {
      const { status, text } = await this.#ask(target, releasePath({ kind, release }));
      if (status === 404) return { do: 'read', release: name };
      if (status !== 200) return undefined;
      const { digest, yanked } = JSON.parse(text) as { digest: string; yanked?: unknown };
      return { do: 'read', release: name, digest, yanked: yanked != null };
    });
  }

  /** Returns the serial. */
  async readNewest(target: Target): Promise<number | undefined> {
    const seen = await this.#options.history.record(target.name, async () => {
      const { status, text, link } = await this.#ask(target, `/catalogs/${CATALOG}/catalog.yaml`);
      const [, serial] = /snapshots\/(\d+)\//.exec(link) ?? [];
      if (status !== 200 || serial === undefined) return undefined;
      this.#serial = Math.max(this.#serial, Number(serial));
      return {
        do: 'catalog',
        catalog: CATALOG,
        serial: Number(serial),
        digest: sha256(text),
        newest: true,
      };
    });
    return seen?.do === 'catalog' ? seen.serial : undefined;
  }

  async readSerial(target: Target, serial: number): Promise<void> {
    await this.#options.history.record(target.name, async () => {
      const path = `/catalogs/${CATALOG}/snapshots/${serial}/catalog.yaml`;
      const { status, text } = await this.#ask(target, path);
      if (status !== 200) return undefined;
      return { do: 'catalog', catalog: CATALOG, serial, digest: sha256(text), newest: false };
    });
  }

  /** Makes a token, uses it everywhere, and sometimes revokes it. */
  async #useTokens(): Promise<void> {
    const { random, history, targets } = this.#options;
    const created = await this.#ask(this.#anyTarget(), '/api/v1/tokens', {
      method: 'POST',
      body: JSON.stringify({ name: 'a client', scopes: ['yank'] }),
      headers: { 'content-type': 'application/json' },
    });
    if (created.status !== 201) return;
    const { id, token: secret } = JSON.parse(created.text) as { id: string; token: string };
    this.#tokens.push({ id, secret });
    for (const target of targets) await this.#use(target, id, secret);
    if (random() < 0.5) return;
    const target = this.#anyTarget();
    await history.record(target.name, async () => {
      const { status } = await this.#ask(target, `/api/v1/tokens/${id}`, { method: 'DELETE' });
      return { do: 'revoke', token: id, outcome: status < 300 && status > 0 ? 'done' : 'unknown' };
    });
    for (const one of targets) await this.#use(one, id, secret);
  }

  async #use(target: Target, id: string, secret: string): Promise<void> {
    await this.#options.history.record(target.name, async () => {
      const { status } = await this.#ask(target, '/api/v1/whoami', {}, secret);
      return status === 200 || status === 401
        ? { do: 'use', token: id, accepted: status === 200 }
        : undefined;
    });
  }

  async #ask(
    { name, url }: Target,
    path: string,
    init: RequestInit = {},
    token = this.#options.token,
  ): Promise<{ status: number; text: string; link: string }> {
    try {
      const response = await fetch(`${url}${path}`, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const text = await response.text();
      const { status } = response;
      if (!ALLOWED.has(status) && status !== 204) this.wrong.push(`${name} ${path}: ${status} ${text}`);
      return { status, text, link: response.headers.get('link') ?? '' };
    } catch {
      // The process has ended, or is stopped, or the response was interrupted.
      return { status: 0, text: '', link: '' };
    }
  }

  #release(round: number): Release {
    return { kind: `Fn${round % FUNCTIONS}`, release: `1.${Math.floor(round / FUNCTIONS)}.0` };
  }

  #anyRelease(): Release {
    return this.#release(Math.floor(this.#options.random() * Math.max(1, this.#round)));
  }

  #anyTarget(): Target {
    const { targets, random } = this.#options;
    return targets[Math.floor(random() * targets.length)]!;
  }
}

interface Release {
  kind: string;
  release: string;
}
