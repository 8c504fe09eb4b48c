import { fillPath } from '@krmhub/api/paths';
import { sha256 } from '@krmhub/schema';
import type { CatalogRead, History } from './history.js';
import { randomInt } from './random.js';
import type { Requests, Target } from './requests.js';

/** Reads the snapshots of a catalog. */
export class CatalogClient {
  readonly name: string;
  readonly #requests: Requests;
  readonly #history: History;
  /** The highest serial that was read. */
  #serial = 0;

  constructor(name: string, requests: Requests, history: History) {
    this.name = name;
    this.#requests = requests;
    this.#history = history;
  }

  async readNewest(target: Target): Promise<CatalogRead | undefined> {
    return this.#history.record(target.name, async () => {
      // Before the first build, there is none.
      const allowed = this.#serial === 0 ? [200, 404] : [200];
      const path = fillPath('catalogYaml', { name: this.name });
      const { status, text, headers } = await this.#requests.ask(target, path, { allowed });
      const [, serial] = /snapshots\/(\d+)\//.exec(headers.get('link') ?? '') ?? [];
      if (status !== 200 || serial === undefined) return undefined;
      this.#serial = Math.max(this.#serial, Number(serial));
      return { ...this.#read(Number(serial), text), newest: true };
    });
  }

  async readSerial(
    target: Target,
    serial = 1 + randomInt(this.#requests.random, this.#serial),
  ): Promise<void> {
    if (this.#serial === 0) return;
    await this.#history.record(target.name, async (): Promise<CatalogRead | undefined> => {
      const path = fillPath('snapshotCatalogYaml', { name: this.name, snapshot: String(serial) });
      const { status, text } = await this.#requests.ask(target, path, { allowed: [200, 404, 410] });
      const asked = { do: 'catalog', catalog: this.name, serial, newest: false } as const;
      if (status === 404) return asked;
      if (status === 410) return { ...asked, withdrawn: true };
      return status === 200 ? this.#read(serial, text) : undefined;
    });
  }

  async readAll(target: Target): Promise<void> {
    for (let serial = 1; serial <= this.#serial; serial++) await this.readSerial(target, serial);
  }

  #read(serial: number, text: string): CatalogRead {
    const holds = releasesIn(text);
    const versions = new Set([...text.matchAll(/served as version (\d+)\./g)].map(([, one]) => Number(one)));
    if (versions.size > 1) {
      this.#requests.wrong.push(`${this.name}: serial ${serial} mixes versions ${[...versions].join(', ')}`);
    }
    const [version] = versions;
    return {
      do: 'catalog',
      catalog: this.name,
      serial,
      newest: false,
      digest: sha256(text),
      ...(holds.length > 0 && { holds }),
      ...(version !== undefined && { version }),
    };
  }
}

/** The releases of `definition` in a catalog. Some of their descriptions need no quotes. */
export function releasesIn(text: string): string[] {
  return [...text.matchAll(/What (\S+) (\S+) does with field 0,/g)].map(
    ([, kind, release]) => `${kind}@${release}`,
  );
}
