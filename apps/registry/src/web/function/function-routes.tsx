/**
 * Pages of functions and their releases: overview, configuration, signatures, releases, source, and comparison.
 *
 * A request reads what a page depends on, without the definition (read-function.ts). The page is rendered from that
 * input in another thread, unless it is cached (function-document.tsx).
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import * as parameters from '@krmhub/api/parameters';
import { displayedRelease, findPredecessor } from '@krmhub/catalog';
import { compareReleases, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import { findFunction, findReleaseHead } from '../../store/find-record.js';
import { compareReleasesPath, type FunctionTab, functionTabPath } from '../addresses.js';
import { derivedPageResponse, FRAMING_PAGE_POLICY, PAGE_POLICY } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { findReport } from '../try/recorded-examples.js';
import { findReadmeImages } from './find-readme-images.js';
import { type FindScriptDeps, findScript } from './find-script.js';
import { COMPARE_DOCUMENT, FUNCTION_DOCUMENT } from './function-document.js';
import { IMAGE_ROUTES, type ImageDeps, imageRoutes } from './image-routes.js';
import type { ReadFunctionDeps } from './read-function.js';
import { readFunction } from './read-function.js';

const name = z.object({ group: parameters.Group, kind: parameters.Kind });
const ofVersion = z.object({ version: parameters.ApiVersion.optional() });
const page = { 200: { description: 'A page' } };
/** Tabs that a release has too. */
const TABS = ['configuration', 'signatures', 'source'] as const;

const tabRoute = (tab: (typeof TABS)[number]) =>
  createRoute({
    method: 'get',
    path: `/functions/{group}/{kind}/${tab}`,
    request: { params: name, query: ofVersion },
    responses: page,
  });
const releaseTabRoute = (tab: (typeof TABS)[number]) =>
  createRoute({
    method: 'get',
    path: `/functions/{group}/{kind}/releases/{release}/${tab}`,
    request: { params: name.extend({ release: parameters.ReleaseName }), query: ofVersion },
    responses: page,
  });

export const FUNCTION_PAGE_ROUTES = {
  functionPage: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}',
    request: { params: name, query: ofVersion },
    responses: page,
  }),
  releasePage: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/releases/{release}',
    request: { params: name.extend({ release: parameters.ReleaseName }), query: ofVersion },
    responses: page,
  }),
  configurationPage: tabRoute('configuration'),
  signaturesPage: tabRoute('signatures'),
  sourcePage: tabRoute('source'),
  releasesPage: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/releases',
    request: { params: name, query: z.object({ after: parameters.ReleaseName.optional() }) },
    responses: page,
  }),
  configurationOfReleasePage: releaseTabRoute('configuration'),
  signaturesOfReleasePage: releaseTabRoute('signatures'),
  sourceOfReleasePage: releaseTabRoute('source'),
  comparePage: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/compare',
    request: {
      params: name,
      query: z.object({ from: parameters.ReleaseName.optional(), to: parameters.ReleaseName.optional() }),
    },
    responses: page,
  }),
  ...IMAGE_ROUTES,
} as const;

export type FunctionPageDeps = ReadFunctionDeps & FindScriptDeps & ImageDeps & { site: Site };

export function functionPageRoutes(app: RegistryApp, deps: FunctionPageDeps): void {
  const { site, store, trust, derived } = deps;

  imageRoutes(app, deps);

  servePage(app, FUNCTION_PAGE_ROUTES.functionPage, {}, (c, { params, query }) =>
    response(c, { ...params, ...query }, 'overview'),
  );
  servePage(app, FUNCTION_PAGE_ROUTES.releasePage, {}, (c, { params, query }) =>
    response(c, { ...params, ...query }, 'overview'),
  );
  servePage(app, FUNCTION_PAGE_ROUTES.releasesPage, {}, (c, { params, query: { after } }) =>
    response(c, { ...params, after }, 'releases'),
  );
  for (const tab of TABS) {
    servePage(app, FUNCTION_PAGE_ROUTES[`${tab}Page`], {}, (c, { params, query }) =>
      response(c, { ...params, ...query }, tab),
    );
    servePage(app, FUNCTION_PAGE_ROUTES[`${tab}OfReleasePage`], {}, (c, { params, query }) =>
      response(c, { ...params, ...query }, tab),
    );
  }

  async function response(
    c: RegistryContext,
    wanted: {
      group: string;
      kind: string;
      release?: string;
      version?: string | undefined;
      after?: string | undefined;
    },
    tab: FunctionTab,
  ): Promise<Response> {
    const { version, after, ...rest } = wanted;
    const reading = await readFunction(deps, version === undefined ? rest : { ...rest, version });
    const right = functionTabPath({ ...reading.name, release: wanted.release }, tab);
    // Kinds and releases have one canonical spelling, and pages one URL.
    if (right !== functionTabPath(rest, tab) || decodeURI(c.req.path) !== decodeURI(right)) {
      return c.redirect(site.at(right) + new URL(c.req.url).search, 302);
    }
    const ofRelease = wanted.release !== undefined;
    const found = tab === 'source' || tab === 'overview' ? await findScript(c, deps, reading) : undefined;
    const script = tab === 'source' ? found : undefined;
    const isScriptHere = tab === 'overview' && found !== undefined ? true : undefined;
    const report = tab === 'overview' ? await findReport(deps, reading) : undefined;
    const images = tab === 'overview' ? await findReadmeImages(c, deps, reading) : [];
    return derivedPageResponse(
      c,
      derived,
      FUNCTION_DOCUMENT,
      {
        reading,
        ...defined({ script, isScriptHere, report, images: images.length > 0 ? images : undefined }),
        policies: trust.policies,
        ofRelease,
        tab,
        ...defined({ after }),
        isIndexed: !ofRelease && version === undefined && after === undefined,
      },
      tab === 'overview' ? FRAMING_PAGE_POLICY : PAGE_POLICY,
    );
  }

  servePage(app, FUNCTION_PAGE_ROUTES.comparePage, {}, async (c, { params, query }) => {
    const fn = await findFunction(store, params);
    const to = query.to ?? displayedRelease(fn.releases).release;
    const from =
      query.from ??
      findPredecessor({ releases: fn.releases }, to) ??
      fn.releases.find(({ release }) => compareReleases(release, to) < 0)?.release;
    if (from === undefined) {
      throw new KrmhubError('not-found', `${fn.group}/${fn.kind} has no release before ${to}`, {
        hint: 'Choose two releases on the page of the function.',
      });
    }
    if (query.from === undefined || query.to === undefined || fn.kind !== params.kind) {
      return c.redirect(site.at(compareReleasesPath(fn, { from, to })), 302);
    }
    const [before, after] = [
      await findReleaseHead(store, { ...fn, release: from }),
      await findReleaseHead(store, { ...fn, release: to }),
    ];
    return derivedPageResponse(c, derived, COMPARE_DOCUMENT, {
      fn,
      from: before.release,
      to: after.release,
      isIndexed: false,
    });
  });
}
