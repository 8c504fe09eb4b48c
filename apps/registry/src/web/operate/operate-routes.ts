import type { RegistryApp } from '../../http/context.js';
import { DEVICE_LOGIN, OPERATE, SIGN_IN, SIGN_OUT } from '../addresses.js';
import { DEVICE_ROUTES, type DevicePageDeps, deviceRoutes } from '../device/device-routes.js';
import { ACCESS_PAGE_ROUTES, type AccessPageDeps, accessPageRoutes } from './access-routes.js';
import { AUDIT_PAGE_ROUTES, type AuditPageDeps, auditPageRoutes } from './audit-routes.js';
import { EVENT_PAGE_ROUTES, type EventPageDeps, eventPageRoutes } from './event-routes.js';
import { OperatorPages, type OperatorPagesDeps } from './operator-pages.js';
import { OVERVIEW_ROUTES, type OverviewDeps, overviewRoutes } from './overview-routes.js';
import { POLICY_PAGE_ROUTES, type PolicyPageDeps, policyPageRoutes } from './policy-routes.js';
import { PROVIDER_ROUTES, providerRoutes } from './provider-routes.js';
import { PUBLISHER_PAGE_ROUTES, type PublisherPageDeps, publisherPageRoutes } from './publisher-routes.js';
import { RECIPE_ROUTES, type RecipeDeps, recipeRoutes } from './recipe-routes.js';
import { RELEASE_PAGE_ROUTES, type ReleasePageDeps, releasePageRoutes } from './release-routes.js';
import { SESSION_ROUTES, sessionRoutes } from './session-routes.js';
import { SIGN_IN_ROUTES, signInRoutes } from './sign-in-routes.js';
import { SOURCE_PAGE_ROUTES, type SourcePageDeps, sourcePageRoutes } from './source-routes.js';
import { TOKEN_PAGE_ROUTES, type TokenPageDeps, tokenPageRoutes } from './token-routes.js';
import { USER_PAGE_ROUTES, type UserPageDeps, userPageRoutes } from './user-routes.js';

export const OPERATE_ROUTES = {
  ...SIGN_IN_ROUTES,
  ...PROVIDER_ROUTES,
  ...DEVICE_ROUTES,
  ...OVERVIEW_ROUTES,
  ...SESSION_ROUTES,
  ...USER_PAGE_ROUTES,
  ...SOURCE_PAGE_ROUTES,
  ...TOKEN_PAGE_ROUTES,
  ...RECIPE_ROUTES,
  ...RELEASE_PAGE_ROUTES,
  ...EVENT_PAGE_ROUTES,
  ...AUDIT_PAGE_ROUTES,
  ...POLICY_PAGE_ROUTES,
  ...ACCESS_PAGE_ROUTES,
  ...PUBLISHER_PAGE_ROUTES,
} as const;

export type OperateDeps = OperatorPagesDeps &
  DevicePageDeps &
  OverviewDeps &
  UserPageDeps &
  SourcePageDeps &
  TokenPageDeps &
  RecipeDeps &
  ReleasePageDeps &
  EventPageDeps &
  AuditPageDeps &
  PolicyPageDeps &
  AccessPageDeps &
  PublisherPageDeps;

/** Serves the pages of operators, who sign in with a token of the registry. */
export function operateRoutes(app: RegistryApp, deps: OperateDeps): void {
  // Also for unknown and refused pages.
  for (const path of [`${OPERATE}/*`, `${SIGN_IN}/*`, SIGN_OUT, `${DEVICE_LOGIN}/*`]) {
    app.use(path, async (c, next) => {
      c.set('isPrivate', true);
      await next();
    });
  }
  const pages = new OperatorPages(app, deps);
  signInRoutes(app, deps, pages);
  providerRoutes(app, deps, pages);
  deviceRoutes(deps, pages);
  overviewRoutes(deps, pages);
  sessionRoutes(deps, pages);
  userPageRoutes(deps, pages);
  sourcePageRoutes(deps, pages);
  tokenPageRoutes(deps, pages);
  recipeRoutes(deps, pages);
  releasePageRoutes(deps, pages);
  eventPageRoutes(deps, pages);
  auditPageRoutes(deps, pages);
  policyPageRoutes(deps, pages);
  accessPageRoutes(deps, pages);
  publisherPageRoutes(deps, pages);
}
