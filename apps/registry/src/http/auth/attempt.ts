import { ROUTES, type RouteName } from '@krmhub/api/routes';
import type { AuditAction } from '@krmhub/schema';
import type { Attempt } from '../context.js';

type Params = Readonly<Record<string, string>>;

const release = ({ group, kind, release }: Params) => `release/${group}/${kind}@${release}`;
const group = ({ group }: Params) => `group/${group}`;
const catalog = ({ name }: Params) => `catalog/${name}`;
const token = ({ id }: Params) => `token/${id}`;
const user = ({ id }: Params) => `user/${id}`;

const ATTEMPTS: Partial<Record<RouteName, [AuditAction, (params: Params) => string]>> = {
  publish: ['release.publish', release],
  attach: ['release.attach', release],
  yank: ['release.yank', release],
  unyank: ['release.unyank', release],
  deprecate: ['release.deprecate', release],
  undeprecate: ['release.undeprecate', release],
  takedown: ['release.take-down', release],
  applyCatalog: ['catalog.apply', catalog],
  cut: ['catalog.build', catalog],
  deleteCatalog: ['catalog.delete', catalog],
  restoreCatalog: ['catalog.restore', catalog],
  refreshSource: ['source.sync', ({ name, source }) => `source/${name}/${source}`],
  applyPolicies: ['policy.apply', () => 'policies'],
  applyAccess: ['access.apply', () => 'access'],
  claimGroup: ['owner.claim', group],
  verifyOwner: ['owner.verify', group],
  releaseGroup: ['owner.release', group],
  reportConsumer: ['consumer.report', () => 'consumer'],
  addPublisher: ['publisher.add', () => 'trusted-publishers'],
  removePublisher: ['publisher.remove', ({ id }) => `trusted-publisher/${id}`],
  exchangeToken: ['token.create', () => 'tokens'],
  createToken: ['token.create', () => 'tokens'],
  revokeToken: ['token.revoke', token],
  suspendUser: ['user.suspend', user],
  restoreUser: ['user.restore', user],
};

const BY_ROUTE = new Map<unknown, (params: Params) => Attempt>(
  Object.entries(ATTEMPTS).map(([name, [action, object]]) => [
    ROUTES[name as RouteName],
    (params) => ({ action, object: object(params) }),
  ]),
);

/** Returns what a request of a route tries; undefined for a route that changes nothing. */
export function findAttempt(route: unknown, params: Params): Attempt | undefined {
  return BY_ROUTE.get(route)?.(params);
}
