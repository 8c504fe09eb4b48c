import { parseFunction, planUpdate } from '@krmhub/catalog';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';
import type { ExplainedUpdate } from '../lock/explanation.js';
import type { ResolvedFunction } from '../lock/resolve-functions.js';
import { searchOrder } from '../lock/search-order.js';
import { CatalogHistories, changesTo, functionPage } from './catalog-histories.js';

/** A function that comes from a catalog, or whose image a catalog has. */
interface Source {
  catalog: CatalogReference;
  apiVersion: string;
  kind: string;
  /** Digest of the definition that is locked. */
  locked?: string;
}

/**
 * Returns for each function its page, and what was released since it was locked, as far as registries say. They are
 * asked for 100 functions of a catalog in one request; what they do not say is left out.
 */
export async function explainUpdates(
  io: Io,
  resolved: readonly ResolvedFunction[],
  options: ResolverOptions,
): Promise<ExplainedUpdate[]> {
  const histories = new CatalogHistories(io, options);
  const sources = resolved.map((one) => findSource(io, one, options));
  await histories.ask(
    sources.flatMap((source) => {
      if (source === undefined) return [];
      const { version, ...name } = parseFunction(source);
      const used = source.locked === undefined ? undefined : { from: source.locked, version };
      return { catalog: source.catalog, ...name, ...defined({ used }) };
    }),
  );
  return Promise.all(
    sources.map(async (source) => (source === undefined ? {} : readUpdate(histories, source))),
  );
}

function findSource(io: Io, one: ResolvedFunction, options: ResolverOptions): Source | undefined {
  const { listed, resolution, match } = one;
  const order = searchOrder(io, options, listed.request);
  if (resolution !== undefined && !resolution.inline) {
    const catalog = order[resolution.searched.length];
    const locked = resolution.entry === undefined ? resolution.definition : undefined;
    const { apiVersion, kind } = listed.request;
    return catalog && { catalog, apiVersion, kind, ...defined({ locked }) };
  }
  const catalog = match && order.find(({ text }) => text === match.catalog);
  return catalog && { catalog, apiVersion: match!.apiVersion, kind: match!.kind };
}

async function readUpdate(
  histories: CatalogHistories,
  { catalog, locked, ...name }: Source,
): Promise<ExplainedUpdate> {
  const { version, ...fn } = parseFunction(name);
  const history = await histories.find({ catalog, ...fn });
  if (history === undefined || (history.releases.length === 0 && history.upstream === undefined)) return {};
  const page = await functionPage(histories, catalog, history);
  const used = history.releases.find(({ digest }) => digest === locked);
  const { wanted } = planUpdate({ version, definition: used?.digest }, history.releases);
  if (used === undefined || wanted === undefined || wanted.digest === used.digest) return defined({ page });
  const changes = changesTo(history, { from: used.digest, version }, wanted);
  return { ...defined({ page }), behind: { release: wanted.release, ...defined({ changes }) } };
}
