import { ROUTES } from '@krmhub/api/routes';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { routingPattern } from '../../apps/registry/src/http/endpoint.js';
import { SCIM_ROUTES } from '../../apps/registry/src/scim/scim-routes.js';
import { createApp } from '../../apps/registry/src/server/app.js';
import { openTestRegistry, type TestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { isOperatorPath } from '../../apps/registry/src/web/addresses.js';
import { WEB_ROUTES } from '../../apps/registry/src/web/web-routes.js';

/** Tests of rights, limits, and the audit log are generated from the tables of routes, so each route is in one. */

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

/** What is before all routes, and the OCI registry, whose paths `OCI_TEMPLATES` has. */
const WITHOUT_METHOD = ['/*', '/v2', '/v2/*'];

it('has every route of the application in the contract of the API, or in the table of pages or of SCIM, and serves all', () => {
  const pages = WEB_ROUTES.map(([, route]) => route);
  const tables = [...Object.values(ROUTES), ...Object.values(SCIM_ROUTES), ...pages];
  const patterns = new Set(tables.map(({ path }) => routingPattern(path).pattern));
  const expected = new Set(
    tables.map(({ method, path }) => `${method.toUpperCase()} ${routingPattern(path).pattern}`),
  );
  const served = new Set<string>();
  for (const { method, path } of createApp(registry.parts).routes) {
    // 405 for the other methods of a path, and the answer for unknown paths of operators.
    const isAnswer = path.endsWith('/*') && isOperatorPath(path);
    if (method === 'ALL')
      expect([...WITHOUT_METHOD, ...patterns, ...(isAnswer ? [path] : [])]).toContain(path);
    else served.add(`${method} ${path}`);
  }
  expect([...served].sort()).toEqual([...expected].sort());
  expect(served.size).toBeGreaterThan(100);
});
