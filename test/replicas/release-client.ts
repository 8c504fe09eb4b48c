import { sha256 } from '@krmhub/schema';
import { definition, LARGE, releasePath } from '../faults/workload.js';
import type { ChangeOutcome, History, Operation } from './history.js';
import { randomInt } from './random.js';
import type { Requests, Target } from './requests.js';

interface Release {
  kind: string;
  release: string;
}

const FUNCTIONS = 10;
/** Longer than a process that does not respond delays a takedown. */
const TAKEDOWN_MS = 90_000;
/** An operator repeats it at other processes. */
const TAKEDOWN_TRIES = 4;
const READ = [200, 404, 410];

/** Publishes, yanks, takes down, and reads releases. */
export class ReleaseClient {
  readonly #requests: Requests;
  readonly #history: History;
  /** Next release of each client's publishes: some releases are published by two clients at once. */
  #round = 0;

  constructor(requests: Requests, history: History) {
    this.#requests = requests;
    this.#history = history;
  }

  /** Two clients publish the same release with other bytes, and other processes, at about the same time. */
  async publish(): Promise<void> {
    const { random } = this.#requests;
    const release = releaseAt(this.#round++);
    const racers = random() < 0.4 ? 2 : 1;
    await Promise.all(
      Array.from({ length: racers }, (_, racer) => this.#publishOne(release, racer === 0 ? '' : 'other')),
    );
    // A client that does not know repeats its request.
    if (random() < 0.3) await this.#publishOne(release, '');
  }

  async #publishOne({ kind, release }: Release, remark: string): Promise<void> {
    const { random } = this.#requests;
    const target = this.#requests.any();
    const text = definition(kind, release, remark);
    // Some are blobs, and the others are rows.
    const body = random() < 0.3 ? text + LARGE : text;
    const wait = random() < 0.2 ? '?wait=true' : '';
    await this.#history.record(target.name, async () => {
      const response = await this.#requests.ask(target, `${releasePath({ kind, release })}${wait}`, {
        method: 'PUT',
        body,
        headers: { 'content-type': 'application/yaml' },
        allowed: [200, 201, 409],
      });
      const outcomes: Record<number, ChangeOutcome> = {
        201: 'done',
        200: 'same',
        409: response.text.includes('"takedowns"') ? 'gone' : 'exists',
      };
      return {
        do: 'publish',
        release: `${kind}@${release}`,
        digest: sha256(body),
        outcome: outcomes[response.status] ?? 'unknown',
      };
    });
  }

  async yank(): Promise<void> {
    await this.#change(this.#any(), 'yank');
  }

  /** One of the newest, which are in the newest snapshot. */
  async takeDown(): Promise<void> {
    const newest = Math.max(0, this.#round - 1 - randomInt(this.#requests.random, 2 * FUNCTIONS));
    const release = releaseAt(newest);
    for (let tries = 0; tries < TAKEDOWN_TRIES; tries++) {
      const done = await this.#change(release, 'takedown');
      if (done.do !== 'takedown' || done.outcome === 'done') break;
    }
    // Each process must know by now.
    for (const target of this.#requests.targets) await this.#read(target, release);
  }

  async #change({ kind, release }: Release, change: 'yank' | 'takedown'): Promise<Operation> {
    const target = this.#requests.any();
    const name = `${kind}@${release}`;
    const done = await this.#history.record(target.name, async (): Promise<Operation> => {
      const { status, text } = await this.#requests.ask(
        target,
        `${releasePath({ kind, release })}/${change}`,
        {
          method: 'POST',
          body: JSON.stringify({ reason: 'a mistake' }),
          headers: { 'content-type': 'application/json' },
          allowed: READ,
          ...(change === 'takedown' && { milliseconds: TAKEDOWN_MS }),
        },
      );
      if (status === 404 || status === 410) return withoutBytes(name, text);
      return { do: change, release: name, outcome: status === 200 ? 'done' : 'unknown' };
    });
    return done!;
  }

  readAny(): Promise<void> {
    return this.#read(this.#requests.any(), this.#any());
  }

  async readSome(target: Target, count: number): Promise<void> {
    for (let at = 0; at < count; at++) await this.#read(target, this.#any());
  }

  async readAll(target: Target): Promise<void> {
    for (let round = 0; round < this.#round; round++) await this.#read(target, releaseAt(round));
  }

  async #read(target: Target, { kind, release }: Release): Promise<void> {
    const name = `${kind}@${release}`;
    const read = (
      path: string,
      found: (text: string) => { digest: string; yanked?: boolean },
    ): Promise<unknown> =>
      this.#history.record(target.name, async (): Promise<Operation | undefined> => {
        const { status, text } = await this.#requests.ask(target, path, { allowed: READ });
        if (status === 404 || status === 410) return withoutBytes(name, text);
        return status === 200 ? { do: 'read', release: name, ...found(text) } : undefined;
      });
    const path = releasePath({ kind, release });
    await read(`${path}/definition.yaml`, (text) => ({ digest: sha256(text) }));
    await read(path, (text) => {
      const { digest, yanked } = JSON.parse(text) as { digest: string; yanked?: unknown };
      return { digest, yanked: yanked != null };
    });
  }

  #any(): Release {
    return releaseAt(randomInt(this.#requests.random, Math.max(1, this.#round)));
  }
}

function releaseAt(round: number): Release {
  return { kind: `Fn${round % FUNCTIONS}`, release: `1.${Math.floor(round / FUNCTIONS)}.0` };
}

/** If every release of a function was taken down, releases that never were respond 410 too. */
function withoutBytes(name: string, text: string): Operation {
  const { takedowns = [] } = JSON.parse(text) as { takedowns?: readonly Release[] };
  const isGone = takedowns.some(({ kind, release }) => `${kind}@${release}` === name);
  return { do: 'read', release: name, ...(isGone && { gone: true }) };
}
