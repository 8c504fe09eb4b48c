/**
 * Pages of the signing policies: which signers this registry trusts.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import type { PolicyReader } from '@krmhub/catalog';
import type { RegistryApp } from '../../http/context.js';
import { type SeenPolicyDeps, seenPolicies } from '../../publish/trust/seen-policies.js';
import { namesHint } from '../../store/find-record.js';
import { MissingName } from '../../store/missing-name.js';
import { POLICIES, policyPath } from '../addresses.js';
import { pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { PolicyListPage, PolicyPage } from './policy-page.js';

const page = { 200: { description: 'A page' } };

export const POLICY_PAGE_ROUTES = {
  policiesPage: createRoute({ method: 'get', path: POLICIES, responses: page }),
  policyPage: createRoute({
    method: 'get',
    path: '/policies/{policy}',
    request: { params: z.object({ policy: z.string().max(63, 'is longer than 63 characters') }) },
    responses: page,
  }),
} as const;

export interface PolicyPageDeps extends SeenPolicyDeps {
  store: PolicyReader;
  site: Site;
}

/** Pages of the signing policies: which signers this registry trusts for what the user may read. */
export function policyPageRoutes(app: RegistryApp, deps: PolicyPageDeps): void {
  const { store, site } = deps;
  servePage(app, POLICY_PAGE_ROUTES.policiesPage, {}, (c) =>
    pageResponse(c, site, {
      head: {
        title: 'Signing policies',
        description: 'The signers that this registry trusts, by group.',
        path: POLICIES,
        section: 'policies',
      },
      body: <PolicyListPage policies={seenPolicies(deps)} />,
    }),
  );

  servePage(app, POLICY_PAGE_ROUTES.policyPage, {}, async (c, { params: { policy: name } }) => {
    const policies = seenPolicies(deps);
    const policy = policies.find((one) => one.name === name);
    if (policy === undefined) {
      const { hint, named } = namesHint(name, policies, `See all policies at ${site.at(POLICIES)}.`);
      const near = named.map((policy) => ({ policy }));
      throw new MissingName(`signing policy ${name} not found`, { hint, near });
    }
    return pageResponse(c, site, {
      head: {
        title: `${name} – signing policy`,
        description: `The signers that the policy ${name} trusts for ${policy.groups.join(', ')}.`,
        path: policyPath(name),
        section: 'policies',
      },
      body: <PolicyPage policy={policy} applied={await store.policies()} />,
    });
  });
}
