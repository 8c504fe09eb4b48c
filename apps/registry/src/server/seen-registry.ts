import type { Readiness } from '@krmhub/api/model';
import { NewestSnapshots } from '../catalogs/serve/newest-snapshots.js';
import { currentActor, type KnownAccess } from '../http/auth/request-actor.js';
import { readableStore } from '../store/readable-store.js';
import { sightOf } from '../store/sight.js';
import type { OpenRegistry } from './open-registry.js';

/** Returns the registry as the actor of each request sees it: for handlers of requests, and for nothing else. */
export function seenRegistry(opened: OpenRegistry): OpenRegistry {
  const { access } = opened;
  const sees = (catalog: string) =>
    !access.rules.hidesAnything || sightOf(access.rules, currentActor()).catalog(catalog);
  return {
    ...opened,
    readiness: async (exclude) => seenReadiness(access, await opened.readiness(exclude)),
    store: readableStore(opened.store, access),
    newestSnapshots: new SeenSnapshots(opened.newestSnapshots, sees),
  };
}

/** Details name catalogs, and can have what a build says of functions. */
function seenReadiness({ rules }: KnownAccess, { status, checks }: Readiness): Readiness {
  if (!rules.hidesAnything || sightOf(rules, currentActor()).registry()) return { status, checks };
  const brief = ({ detail, ...check }: Readiness['checks'][number]) =>
    detail === undefined ? check : { ...check, detail: 'see the log' };
  return { status, checks: checks.map(brief) };
}

/** Newest snapshots without those of catalogs that the actor of the request may not read. */
class SeenSnapshots extends NewestSnapshots {
  readonly #all: NewestSnapshots;
  readonly #sees: (catalog: string) => boolean;

  constructor(all: NewestSnapshots, sees: (catalog: string) => boolean) {
    super({ catalog: async () => undefined, catalogs: async () => [] });
    this.#all = all;
    this.#sees = sees;
  }

  override known(catalog: string) {
    return this.#sees(catalog) ? this.#all.known(catalog) : undefined;
  }

  override async get(catalog: string) {
    const found = await this.#all.get(catalog);
    return this.#sees(catalog) ? found : undefined;
  }

  override put(snapshot: Parameters<NewestSnapshots['put']>[0]): void {
    this.#all.put(snapshot);
  }

  override reload(catalog: string, serial: number): Promise<void> {
    return this.#all.reload(catalog, serial);
  }

  override clear(): void {
    this.#all.clear();
  }
}
