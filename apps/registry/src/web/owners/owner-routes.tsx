/**
 * Pages of owners: the teams that own groups, and what each team owns.
 *
 * They have only groups, functions, and counts that the reader may see. A team that owns nothing else is answered as one
 * that does not exist.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import { SearchParameters } from '@krmhub/api/parameters';
import type { SearchStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { NOT_VERIFIED } from '@krmhub/schema/facets';
import type { RegistryApp } from '../../http/context.js';
import { searchItem } from '../../http/presentation.js';
import { type OwnerReaderDeps, readOwners } from '../../owners/read-owners.js';
import type { SigningTrust } from '../../publish/trust/signing-trust.js';
import { OWNERS, ownerPath } from '../addresses.js';
import { pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { OwnerListPage } from './owner-list-page.js';
import { OwnerPage } from './owner-page.js';
import { ownersByTeam } from './owners-by-team.js';

const page = { 200: { description: 'A page' } };
const Team = z.string().max(63, 'is longer than 63 characters');

export const OWNER_PAGE_ROUTES = {
  ownersPage: createRoute({
    method: 'get',
    path: OWNERS,
    request: { query: z.object({ after: Team.optional() }) },
    responses: page,
  }),
  ownerPage: createRoute({
    method: 'get',
    path: '/owners/{team}',
    request: { params: z.object({ team: Team }), query: SearchParameters.pick({ cursor: true }) },
    responses: page,
  }),
} as const;

/** Teams, and functions, on a page. */
const ON_A_PAGE = 50;

export interface OwnerPageDeps extends OwnerReaderDeps {
  store: OwnerReaderDeps['store'] & SearchStore;
  trust: SigningTrust;
  site: Site;
}

export function ownerPageRoutes(app: RegistryApp, deps: OwnerPageDeps): void {
  const { store, trust, site } = deps;

  servePage(app, OWNER_PAGE_ROUTES.ownersPage, {}, async (c, { query: { after = '' } }) => {
    const following = ownersByTeam(await readOwners(deps)).filter(({ team }) => team > after);
    const teams = following.slice(0, ON_A_PAGE);
    const { total } = await store.search({ owner: [NOT_VERIFIED], limit: 1 });
    return pageResponse(c, site, {
      head: {
        title: 'Owners',
        description: 'The teams that own groups of functions in this registry, and how each was shown.',
        path: OWNERS,
        section: 'functions',
        isIndexed: after === '',
      },
      body: (
        <OwnerListPage
          teams={teams}
          notVerified={total}
          isFirst={after === ''}
          next={following.length > teams.length ? teams.at(-1)?.team : undefined}
        />
      ),
    });
  });

  servePage(app, OWNER_PAGE_ROUTES.ownerPage, {}, async (c, { params: { team }, query: { cursor } }) => {
    const owner = ownersByTeam(await readOwners(deps)).find((one) => one.team === team);
    if (owner === undefined) {
      throw new KrmhubError('not-found', `owner ${team} not found`, {
        hint: `See all owners at ${site.at(OWNERS)}.`,
      });
    }
    const found = await store.search({
      owner: [team],
      sort: 'name',
      limit: ON_A_PAGE,
      ...defined({ cursor }),
    });
    const result = { ...found, items: found.items.map((item) => searchItem(trust.policies, item)) };
    return pageResponse(c, site, {
      head: {
        title: `${owner.displayName} – owner`,
        description: `The groups and functions of the team ${team} in this registry.`,
        path: ownerPath(team),
        section: 'functions',
        isIndexed: cursor === undefined,
      },
      body: <OwnerPage owner={owner} result={result} cursor={cursor} />,
    });
  });
}
