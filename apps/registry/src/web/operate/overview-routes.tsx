import { createRoute } from '@hono/zod-openapi';
import type { Readiness } from '@krmhub/api/model';
import type { CatalogReader, SourceReader, TokenReader } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { ObservableBuilder } from '../../catalogs/build/catalog-builder.js';
import type { KnownAccess } from '../../http/auth/request-actor.js';
import type { UserSettings } from '../../http/auth/user-session.js';
import { sourceDetail } from '../../http/presentation.js';
import type { UserSessions } from '../../store/session-store.js';
import { OPERATE } from '../addresses.js';
import { findWaiting, type WaitingDeps } from './find-waiting.js';
import type { Operator } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { OverviewPage } from './overview-page.js';
import type { OwnThings } from './own-sections.js';
import { isGood, tokenWithState } from './token-state.js';

export const OVERVIEW_ROUTES = {
  operatePage: createRoute({
    method: 'get',
    path: OPERATE,
    responses: { 200: { description: 'Status of the registry' } },
  }),
} as const;

export interface OverviewDeps {
  store: SourceReader & CatalogReader & TokenReader & UserSessions & WaitingDeps['store'];
  clock: () => Date;
  config: UserSettings & WaitingDeps['config'];
  snapshotBuilder: ObservableBuilder;
  access: KnownAccess;
  readiness: () => Promise<Readiness>;
}

export function overviewRoutes(deps: OverviewDeps, pages: OperatorPages): void {
  const { store, snapshotBuilder: builder } = deps;

  const ownThings = async ({ rules, token: { user } }: Operator): Promise<OwnThings | undefined> => {
    if (user === undefined) return undefined;
    const now = deps.clock().toISOString();
    const sessions = await store.sessionsOfUser(user.id);
    const tokens = (await store.tokensOfUser(user.id)).map((token) => tokenWithState(token, deps));
    return {
      teams: rules.teamsOf(user).map((name) => {
        const { displayName } = rules.team(name) ?? {};
        return { name, owns: rules.rightsOf(name).owns, ...defined({ displayName }) };
      }),
      ssoGroups: user.groups,
      tokens: tokens.filter(isGood).reverse(),
      sessions: sessions.filter(({ expiresAt }) => expiresAt > now),
    };
  };

  pages.page(OVERVIEW_ROUTES.operatePage, {}, async (_, __, operator) => {
    const catalogs = (await store.catalogs()).map(({ name }) => name);
    const overview = {
      readiness: await deps.readiness(),
      failing: builder.status().failing.filter(({ catalog }) => catalogs.includes(catalog)),
      sources: (await store.sources()).map(sourceDetail),
      catalogs: catalogs.length,
      rules: deps.access.rules,
      own: await ownThings(operator),
      waiting: await findWaiting(deps, operator),
    };
    return { head: { title: 'Operate', path: OPERATE }, body: <OverviewPage overview={overview} /> };
  });
}
