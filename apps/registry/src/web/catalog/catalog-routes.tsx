/**
 * Pages of catalogs: functions, sources, history, trust, recipe, report, and comparison of snapshots.
 *
 * Large catalogs have 20,000 entries and more. So a page reads only its part of them, and counts are cached until the
 * catalog changes.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import { CatalogName, REQUEST_LIMITS, SnapshotReference, SourceName } from '@krmhub/api/parameters';
import type { EventStore, SearchStore, SnapshotStore } from '@krmhub/catalog';
import { type EntryPage, REPORT_REMARKS, type ReportRemark, type SnapshotRecord } from '@krmhub/catalog';
import { type FunctionName, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { SnapshotFinderDeps } from '../../catalogs/serve/find-snapshot.js';
import { snapshotFinder } from '../../catalogs/serve/find-snapshot.js';
import type { RegistryApp } from '../../http/context.js';
import { SERVER_LIMITS } from '../../limits.js';
import { findCatalog } from '../../store/find-record.js';
import type { Derive } from '../../workers/derive/derivation.js';
import {
  CATALOGS,
  catalogFeedPath,
  catalogPath,
  catalogReportPath,
  compareSnapshotsPath,
} from '../addresses.js';
import { counted } from '../counted.js';
import { FeedParameters } from '../feeds/atom.js';
import { feedId } from '../feeds/feed-id.js';
import { feedResponse } from '../feeds/feed-routes.js';
import { pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { CachedCounts, reportSerial } from './cached-counts.js';
import { CatalogListPage } from './catalog-list-page.js';
import { FunctionsTab } from './catalog-page.js';
import { CATALOG_TAB_ROUTES, catalogFeed, catalogTabRoutes } from './catalog-tab-routes.js';
import { CompareSnapshotsPage } from './compare-page.js';
import type { ReadCatalogDeps, ReadSignatureDeps } from './read-catalog.js';
import { readCatalog, readCatalogs, readSigning } from './read-catalog.js';
import { SnapshotComparer } from './read-comparison.js';
import { ReportPage } from './report-page.js';
import { snapshotFeed } from './snapshot-feed.js';
import { snapshotRows } from './snapshot-rows.js';

const page = { 200: { description: 'A page' } };
const params = z.object({ name: CatalogName });
/** The last function of the previous page, whether or not it still exists. */
const After = z
  .string()
  .max(REQUEST_LIMITS.maxFilterLength * 2, 'is too long')
  .regex(/^[^/]+\/[^/]+$/, 'is not GROUP/KIND')
  .transform((text): FunctionName => {
    const [group = '', kind = ''] = text.split('/');
    return { group, kind };
  })
  .optional();
/** Forms send empty fields. */
const orEmpty = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.literal('').transform(() => undefined), schema]).optional();

export const CATALOG_PAGE_ROUTES = {
  catalogsPage: createRoute({
    method: 'get',
    path: CATALOGS,
    request: { query: z.object({ after: CatalogName.optional() }) },
    responses: page,
  }),
  catalogPage: createRoute({
    method: 'get',
    path: '/catalogs/{name}',
    request: {
      params,
      query: z.object({
        q: z
          .string()
          .max(REQUEST_LIMITS.maxFilterLength, `is longer than ${REQUEST_LIMITS.maxFilterLength} characters`)
          .optional(),
        source: orEmpty(SourceName),
        after: After,
      }),
    },
    responses: page,
  }),
  reportPage: createRoute({
    method: 'get',
    path: '/catalogs/{name}/report',
    request: {
      params,
      query: z.object({
        of: z.enum(REPORT_REMARKS, `is not one of ${REPORT_REMARKS.join(', ')}`).optional(),
        after: After,
      }),
    },
    responses: page,
  }),
  ...CATALOG_TAB_ROUTES,
  compareSnapshotsPage: createRoute({
    method: 'get',
    path: '/catalogs/{name}/compare',
    request: {
      params,
      query: z.object({ from: SnapshotReference.optional(), to: SnapshotReference.optional() }),
    },
    responses: page,
  }),
  feedOfSnapshots: createRoute({
    method: 'get',
    path: '/catalogs/{name}/snapshots.atom',
    request: { params, query: FeedParameters },
    responses: { 200: { description: 'An Atom feed' } },
  }),
} as const;

const CATALOGS_OF_PAGE = 50;
const SNAPSHOTS_OF_FEED = 30;
/** Snapshots to choose from, and to search for the default pair. */
const SNAPSHOTS_TO_COMPARE = 100;
/** Functions for each kind of remark in the overview of a report. */
const OVERVIEW_FUNCTIONS = 10;

export type CatalogPageDeps = ReadCatalogDeps &
  ReadSignatureDeps &
  SnapshotFinderDeps & {
    store: SnapshotStore & SearchStore & EventStore;
    derive: Derive;
    site: Site;
  };

export function catalogPageRoutes(app: RegistryApp, deps: CatalogPageDeps): void {
  const { store, site } = deps;
  const counts = new CachedCounts(store, deps.access);
  const comparer = new SnapshotComparer(deps.derive);
  const { buildRows } = snapshotRows(store, counts);
  const { currentSnapshot } = snapshotFinder(deps);

  catalogTabRoutes(app, deps, counts);

  servePage(app, CATALOG_PAGE_ROUTES.catalogsPage, {}, async (c, { query: { after } }) => {
    const all = await readCatalogs(deps);
    const rest = after === undefined ? all : all.filter(({ catalog }) => catalog.name > after);
    const views = rest.slice(0, CATALOGS_OF_PAGE);
    const next = rest.length > views.length ? views.at(-1)?.catalog.name : undefined;
    return pageResponse(c, site, {
      head: {
        title: 'Catalogs',
        description: 'The catalogs of this registry, with their content and sources.',
        path: CATALOGS,
        section: 'catalogs',
        isIndexed: after === undefined,
      },
      body: <CatalogListPage total={all.length} views={views} after={after} next={next} />,
    });
  });

  servePage(app, CATALOG_PAGE_ROUTES.catalogPage, {}, async (c, { params: { name }, query }) => {
    const view = await readCatalog(deps, name);
    const { newest } = view.catalog;
    const { q, source, after } = query;
    const contents: EntryPage =
      newest === undefined
        ? { rows: [] }
        : await store.entryPage({
            catalog: name,
            serial: newest.serial,
            of: 'held',
            limit: SERVER_LIMITS.catalogPageFunctions,
            ...defined({ text: q === undefined || q.trim() === '' ? undefined : q.trim(), source, after }),
          });
    const isWhole = q === undefined && source === undefined && after === undefined;
    const { signature } = newest === undefined ? {} : await readSigning(deps, newest);
    return pageResponse(c, site, {
      head: {
        title: `${name} – catalog`,
        description:
          newest === undefined
            ? `The catalog ${name} has no snapshot yet.`
            : `The catalog ${name}: ${counted(newest.functions, 'function')}, where they come from, and how to verify it.`,
        path: catalogPath(name),
        section: 'catalogs',
        isIndexed: isWhole,
        feeds: [catalogFeed(name)],
      },
      body: (
        <FunctionsTab
          view={view}
          counts={await counts.catalogCounts(view.catalog)}
          query={{ q, source, after: after && `${after.group}/${after.kind}` }}
          contents={contents}
          descriptions={await store.descriptions(name, newest?.serial ?? 0, contents.rows)}
          isSigned={signature !== undefined}
        />
      ),
    });
  });

  servePage(
    app,
    CATALOG_PAGE_ROUTES.reportPage,
    {},
    async (c, { params: { name }, query: { of, after } }) => {
      const view = await readCatalog(deps, name);
      const remarks: readonly ReportRemark[] = of === undefined ? REPORT_REMARKS : [of];
      const pages: Partial<Record<ReportRemark, EntryPage>> = {};
      for (const remark of remarks) {
        pages[remark] = await store.entryPage({
          catalog: name,
          serial: reportSerial(view.catalog),
          of: remark,
          limit: of === undefined ? OVERVIEW_FUNCTIONS : SERVER_LIMITS.catalogPageFunctions,
          ...defined({ after: of && after }),
        });
      }
      return pageResponse(c, site, {
        head: {
          title: `What ${name} omits`,
          description: `What the catalog ${name} rejects, shadows, and omits, and why.`,
          path: catalogReportPath(name),
          section: 'catalogs',
          isIndexed: of === undefined,
          feeds: [catalogFeed(name)],
        },
        body: (
          <ReportPage
            view={view}
            counts={await counts.catalogCounts(view.catalog)}
            pages={pages}
            {...defined({ of, after: of && after && `${after.group}/${after.kind}` })}
          />
        ),
      });
    },
  );

  servePage(app, CATALOG_PAGE_ROUTES.compareSnapshotsPage, {}, async (c, { params: { name }, query }) => {
    await findCatalog(store, name);
    const listed = await store.snapshots(name, SNAPSHOTS_TO_COMPARE + 1);
    const readable = ({ withdrawn }: SnapshotRecord) => withdrawn === undefined;
    const newest = listed.slice(0, SNAPSHOTS_TO_COMPARE).filter(readable);
    const to = query.to === undefined ? newest[0] : await currentSnapshot({ name, snapshot: query.to });
    const before = async (serial: number) =>
      (await store.snapshots(name, SNAPSHOTS_TO_COMPARE, serial)).find(readable);
    const from =
      query.from === undefined
        ? to && (await before(to.serial))
        : await currentSnapshot({ name, snapshot: query.from });
    if (from === undefined || to === undefined) {
      throw new KrmhubError('not-found', `catalog ${name} does not have two snapshots to compare`, {
        hint: 'Choose two snapshots on the page of the catalog.',
      });
    }
    const path = compareSnapshotsPath(name, { from: from.serial, to: to.serial });
    if (query.from !== String(from.serial) || query.to !== String(to.serial))
      return c.redirect(site.at(path), 302);
    return pageResponse(c, site, {
      head: {
        title: `${name}: snapshot ${from.serial} to ${to.serial}`,
        description: `What changed in the catalog ${name} from snapshot ${from.serial} to ${to.serial}.`,
        path,
        section: 'catalogs',
        isIndexed: false,
        feeds: [catalogFeed(name)],
      },
      body: (
        <CompareSnapshotsPage
          catalog={name}
          from={from}
          to={to}
          comparison={await comparer.compare(from, to, c.get('client'))}
          snapshots={newest}
          hasMore={listed.length > SNAPSHOTS_TO_COMPARE}
        />
      ),
    });
  });

  servePage(
    app,
    CATALOG_PAGE_ROUTES.feedOfSnapshots,
    {},
    async (c, { params: { name }, query: { before } }) => {
      const catalog = await findCatalog(store, name);
      const snapshots = await store.snapshots(name, SNAPSHOTS_OF_FEED + 1, before);
      const id = await feedId(store, catalogFeedPath(name));
      const text = snapshotFeed(
        site,
        { ...catalog, id, before },
        await buildRows(snapshots, SNAPSHOTS_OF_FEED),
      );
      return feedResponse(c, text);
    },
  );
}
