import { parseFunction, type ReleaseRule, releaseRule } from '@krmhub/catalog';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import type { Io } from '../io/io.js';
import type { ExplainedUpdate } from '../lock/explanation.js';
import type { ResolvedFunction } from '../lock/resolve-functions.js';
import { searchOrder } from '../lock/search-order.js';
import { CatalogHistories, changesTo, functionPage, planFrom } from './catalog-histories.js';

/** A function that comes from a catalog, or whose image a catalog has. */
interface Source {
  catalog: CatalogReference;
  apiVersion: string;
  kind: string;
  /** Digest of the definition that is locked. */
  locked?: Digest;
  rule?: ReleaseRule;
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
      const { locked: from, rule } = source;
      const used = from === undefined ? undefined : { from, version, ...defined({ range: rule?.range }) };
      return { catalog: source.catalog, ...name, ...defined({ used }) };
    }),
  );
  return Promise.all(
    sources.map(async (source) => (source === undefined ? {} : readUpdate(histories, source, io.now()))),
  );
}

function findSource(io: Io, one: ResolvedFunction, options: ResolverOptions): Source | undefined {
  const { listed, resolution, match } = one;
  const order = searchOrder(io, options, listed.request);
  if (resolution !== undefined && !resolution.inline) {
    const catalog = order[resolution.searched.length];
    const locked = resolution.entry === undefined ? resolution.definition : undefined;
    const { apiVersion, kind, range } = listed.request;
    const rule = releaseRule(options.settings, parseFunction(listed.request), range);
    return catalog && { catalog, apiVersion, kind, ...defined({ locked, rule }) };
  }
  const catalog = match && order.find(({ text }) => text === match.catalog);
  return catalog && { catalog, apiVersion: match!.apiVersion, kind: match!.kind };
}

async function readUpdate(
  histories: CatalogHistories,
  { catalog, locked, rule, ...name }: Source,
  now: Date,
): Promise<ExplainedUpdate> {
  const { version, ...fn } = parseFunction(name);
  const history = await histories.find({ catalog, ...fn });
  if (history === undefined || (history.releases.length === 0 && history.upstream === undefined)) return {};
  const page = await functionPage(histories, catalog, history);
  const { locked: used, wanted } = planFrom(histories, { catalog, history, version, locked, rule, now });
  if (used === undefined || wanted === undefined || wanted.digest === used.digest) return defined({ page });
  const changes = changesTo(history, { from: used.digest, version }, wanted);
  return { ...defined({ page }), behind: { release: wanted.release, ...defined({ changes }) } };
}
