import type { CatalogReleases, CatalogReleasesRequest } from '@krmhub/api/model';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { functionPath } from '@krmhub/api/paths';
import { functionKey, type PlannedUpdate, planUpdate, type UsedFunction } from '@krmhub/catalog';
import {
  type CatalogReference,
  type NamedCatalog,
  parseCatalog,
  type RegistryCatalog,
} from '@krmhub/consume/references/parse-catalog';
import { onlyDigests } from '@krmhub/consume/resolve/locked/locked-entry';
import { isPinned } from '@krmhub/consume/resolve/open/open-catalog';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { OptionTrust } from '@krmhub/consume/trust/catalog-trust';
import { runInParallel } from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import type { ChangeKind } from '@krmhub/schema/documents/change-kinds';
import { KrmhubError } from '@krmhub/schema/error';
import { isGroup, isKind } from '@krmhub/schema/names/gvk';
import type { Io } from '../io/io.js';
import { connect } from '../registry/connection.js';
import { consumePorts } from '../registry/consume-ports.js';

/** What a registry says of a function in one of its catalogs. */
export type FunctionHistory = CatalogReleases['functions'][number];
export type HistoryRelease = FunctionHistory['releases'][number];
type WantedFunction = CatalogReleasesRequest['functions'][number];

/** A function in a catalog. */
export interface HistoryRequest {
  catalog: CatalogReference;
  group: string;
  kind: string;
}

/** What is used of a function, to be compared with newer releases. */
export type UsedRelease = NonNullable<WantedFunction['compare']>[number];

const MAX_TEXT = REQUEST_LIMITS.maxHistoryTextLength;
/** Requests at a time, to all registries. */
const MAX_PARALLEL = 4;

/** What a catalog of a registry had in its snapshots. */
interface AskedCatalog {
  registry: RegistryCatalog;
  wanted: Map<string, WantedFunction>;
  found: Map<string, FunctionHistory>;
  /** Why it could not be asked. */
  error?: KrmhubError;
}

/**
 * Asks registries for the releases that their catalogs had, for many functions at once. Only registries are asked whose
 * catalog the user trusts; other catalogs have no history.
 */
export class CatalogHistories {
  readonly #io: Io;
  readonly #trust: OptionTrust;
  /** Undefined for a catalog without a history. */
  readonly #catalogs = new Map<string, Promise<AskedCatalog | undefined>>();

  constructor(io: Io, options: ResolverOptions) {
    this.#io = io;
    this.#trust = new OptionTrust(io, options);
  }

  /** Asks for what was not asked yet, 100 functions of a catalog in one request. */
  async ask(requests: readonly (HistoryRequest & { used?: UsedRelease })[]): Promise<void> {
    const batches: { asked: AskedCatalog; functions: WantedFunction[] }[] = [];
    const fresh = new Map<AskedCatalog, WantedFunction[]>();
    for (const { catalog, group, kind, used } of requests) {
      // A registry has no function of such a name, and would refuse the whole request.
      if (!isGroup(group) || !isKind(kind)) continue;
      const asked = await this.#catalog(catalog);
      if (asked === undefined) continue;
      const key = functionKey({ group, kind });
      const known = asked.wanted.get(key);
      const one = known ?? { group, kind };
      if (used !== undefined) addComparison(one, used);
      if (known !== undefined) continue;
      asked.wanted.set(key, one);
      fresh.set(asked, [...(fresh.get(asked) ?? []), one]);
    }
    const size = REQUEST_LIMITS.maxHistoryFunctions;
    for (const [asked, functions] of fresh) {
      for (let start = 0; start < functions.length; start += size) {
        batches.push({ asked, functions: functions.slice(start, start + size) });
      }
    }
    await runInParallel(batches, MAX_PARALLEL, ({ asked, functions }) => this.#askBatch(asked, functions));
  }

  /** Returns what the registry said; without releases if the catalog never had the function. Undefined without a history. */
  async find({ catalog, group, kind }: HistoryRequest): Promise<FunctionHistory | undefined> {
    const asked = await this.#catalog(catalog);
    const key = functionKey({ group, kind });
    if (asked === undefined || asked.error !== undefined) return undefined;
    const found = asked.found.get(key);
    return found ?? (asked.wanted.has(key) ? { group, kind, releases: [] } : undefined);
  }

  /** Returns why a catalog could not be asked. */
  async failure(catalog: CatalogReference): Promise<KrmhubError | undefined> {
    return (await this.#catalog(catalog))?.error;
  }

  /** Returns the registry that a catalog is from, and has the history of. */
  async registry(catalog: CatalogReference): Promise<RegistryCatalog | undefined> {
    return (await this.#catalog(catalog))?.registry;
  }

  /** Returns the one snapshot of a reference that has a serial or a digest. */
  pinned(reference: CatalogReference): { serial?: number } | undefined {
    const named = parseCatalog(this.#io, reference);
    const { registry, digest } = named;
    const isPinned = digest !== undefined || onlyDigests(this.#trust.grants(named)) !== undefined;
    const serial = Number(registry?.snapshot);
    if (Number.isInteger(serial)) return { serial };
    return isPinned || registry?.snapshot !== undefined ? {} : undefined;
  }

  #catalog(reference: CatalogReference): Promise<AskedCatalog | undefined> {
    const named = this.#parse(reference);
    const registry = named?.registry;
    if (named === undefined || registry === undefined) return Promise.resolve(undefined);
    const key = JSON.stringify([registry.url, registry.name]);
    let asked = this.#catalogs.get(key);
    if (asked === undefined) {
      asked = this.#isTrusted(named).then((isTrusted) =>
        isTrusted ? { registry, wanted: new Map(), found: new Map() } : undefined,
      );
      this.#catalogs.set(key, asked);
    }
    return asked;
  }

  /** Reading a catalog with an invalid reference says why. */
  #parse(reference: CatalogReference): NamedCatalog | undefined {
    try {
      return parseCatalog(this.#io, reference);
    } catch (error) {
      if (error instanceof KrmhubError) return undefined;
      throw error;
    }
  }

  /** Reading a catalog that is not trusted says why. */
  async #isTrusted(named: NamedCatalog): Promise<boolean> {
    if (this.#trust.grants(named).length > 0) return true;
    return isPinned({ io: consumePorts(this.#io) }, named).catch((error: unknown) => {
      if (error instanceof KrmhubError) return false;
      throw error;
    });
  }

  async #askBatch(asked: AskedCatalog, functions: WantedFunction[]): Promise<void> {
    if (asked.error !== undefined) return;
    const { url, name } = asked.registry;
    try {
      const client = await connect(this.#io, url);
      const response = await client.catalogReleases(name, functions);
      for (const one of response.functions) asked.found.set(functionKey(one), one);
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      asked.error = error;
    }
  }
}

/** Beyond the limit, what changed stays unknown. */
function addComparison(wanted: WantedFunction, used: UsedRelease): void {
  // A registry would refuse the whole request, also for the other functions.
  if ([used.from, used.version, used.range ?? ''].some((text) => text.length > MAX_TEXT)) return;
  const known = wanted.compare ?? [];
  const isKnown = known.some((one) => JSON.stringify(one) === JSON.stringify(used));
  if (!isKnown && known.length < REQUEST_LIMITS.maxHistoryComparisons) wanted.compare = [...known, used];
}

/** Returns what an upgrade changes, if the registry compared the definitions. */
export function changesTo(
  { changes = [] }: FunctionHistory,
  { from, version }: UsedRelease,
  to: HistoryRelease | undefined,
): ChangeKind[] | undefined {
  const isWanted = (one: (typeof changes)[number]) =>
    one.from === from && one.version === version && one.to === to?.release;
  return changes.find(isWanted)?.kinds;
}

/** Plans what the history of a catalog says of a function, which only its pinned snapshot can have. */
export function planFrom(
  histories: CatalogHistories,
  {
    catalog,
    history,
    locked,
    ...used
  }: UsedFunction & {
    catalog: CatalogReference;
    history: FunctionHistory;
    locked: Digest | undefined;
  },
): PlannedUpdate<HistoryRelease> {
  const takenDown = history.takedowns?.map(({ release }) => release);
  const pinned = histories.pinned(catalog);
  const plan = planUpdate(
    { ...used, definition: locked, takenDown, snapshot: pinned?.serial },
    history.releases,
  );
  if (pinned === undefined || locked === undefined) return plan;
  // What is locked of a pinned snapshot stays; its lock entry names the entry, not the definition of the release.
  const { wanted, ...rest } = plan;
  const stays = plan.locked ?? (pinned.serial === undefined ? undefined : wanted);
  return { ...rest, ...defined({ locked: stays, wanted: stays }) };
}

/** Returns the page of a function on its registry. */
export async function functionPage(
  histories: CatalogHistories,
  catalog: CatalogReference,
  name: { group: string; kind: string },
): Promise<string | undefined> {
  const registry = await histories.registry(catalog);
  return registry && `${registry.url}${functionPath(name)}`;
}
