import { createRoute, z } from '@hono/zod-openapi';
import { compareTrust, POLICY_LIMITS, readSigningPolicies, type SigningPolicy } from '@krmhub/catalog';
import { type Diagnostic, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { recheckToken, refuseLacking } from '../../http/auth/authorize.js';
import { callerOf } from '../../http/auth/caller.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { ApplyPoliciesDeps } from '../../publish/trust/apply-policies.js';
import { applyPolicies } from '../../publish/trust/apply-policies.js';
import { OPERATE_POLICIES } from '../addresses.js';
import type { Site } from '../site.js';
import { CHANGES } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { type PoliciesOutcome, PoliciesPage } from './policies-page.js';
import type { PrivatePage } from './private-response.js';

const MAX_FORM_BYTES =
  POLICY_LIMITS.maxBytes * SERVER_LIMITS.formBytesPerTextByte + SERVER_LIMITS.maxFormBytes;

export const POLICY_PAGE_ROUTES = {
  operatePolicies: createRoute({
    method: 'get',
    path: OPERATE_POLICIES,
    request: { query: z.object({ applied: z.literal('true', 'is not true').optional() }) },
    responses: { 200: { description: 'The signing policies, and a form to change them' } },
  }),
  sendPolicies: createRoute({
    method: 'post',
    path: OPERATE_POLICIES,
    responses: { 200: { description: 'The result' }, 303: { description: 'Applied' } },
  }),
} as const;

const PolicyForm = z.object({
  text: z.string('is missing'),
  /** Revision of the policies on the page. */
  expected: z
    .string('is missing')
    .regex(/^\d{1,15}$/, 'is not a revision')
    .transform(Number),
  remove: z.literal('true', 'is not true').optional(),
  do: z.enum(['check', 'apply'], 'is neither check nor apply'),
});
type PolicyForm = z.output<typeof PolicyForm>;

export type PolicyPageDeps = ApplyPoliciesDeps & { site: Site };

/** The page of the signing policies, by the rules of the HTTP API. */
export function policyPageRoutes(deps: PolicyPageDeps, pages: OperatorPages): void {
  const { store, site, trust } = deps;

  const page = async (
    given: { diagnostics?: readonly Diagnostic[]; outcome?: PoliciesOutcome; form?: PolicyForm },
    status?: PrivatePage['status'],
  ): Promise<PrivatePage> => {
    const stored = await store.policies();
    const { diagnostics = [], outcome, form } = given;
    const revision = stored?.revision ?? 0;
    const shown = {
      ...defined({
        applied: stored === undefined ? undefined : { at: stored.appliedAt, by: stored.appliedBy },
      }),
      stored: stored?.text ?? '',
      text: form?.text ?? stored?.text ?? '',
      // A user who has seen both texts may replace the stored one.
      expected: form === undefined || outcome?.is === 'conflict' ? revision : form.expected,
      diagnostics,
      outcome,
    };
    return {
      head: { title: 'Signing policies', path: OPERATE_POLICIES },
      body: <PoliciesPage shown={shown} />,
      ...defined({ status }),
    };
  };

  pages.page(POLICY_PAGE_ROUTES.operatePolicies, {}, async (_, { query: { applied } }, operator) => {
    // The text names what is hidden.
    if (operator.rules.hidesAnything) refuseLacking(operator.rules, operator.token, CHANGES);
    return page(
      applied === undefined || (await store.policies()) === undefined ? {} : { outcome: { is: 'applied' } },
    );
  });

  pages.action(
    POLICY_PAGE_ROUTES.sendPolicies,
    {
      needs: CHANGES,
      form: PolicyForm,
      maxBytes: MAX_FORM_BYTES,
      stale: async (_, { form }) => page({ form, outcome: { is: 'stale' } }, 403),
    },
    async (c, { form }, { token }) => {
      const { text, remove } = form;
      const { policies, diagnostics } = readSigningPolicies(new TextEncoder().encode(text), 'policies.yaml');
      if (policies === undefined) {
        return page(
          { form, diagnostics, outcome: { is: 'refused', message: 'invalid signing policies' } },
          400,
        );
      }
      const before = trust.policies;
      const options = { ...callerOf(c, token), dryRun: form.do === 'check', remove: remove !== undefined };
      try {
        const result = await deps.functionLocks.run('policies', recheckToken(c), () =>
          apply(form, policies, options),
        );
        if (result === undefined) return page({ form, diagnostics, outcome: { is: 'conflict' } }, 409);
        if (form.do === 'check') {
          const changes = compareTrust(before, policies);
          return page({ form, diagnostics, outcome: { is: 'checked', result, trust: changes } });
        }
      } catch (error) {
        if (!(error instanceof KrmhubError)) throw error;
        if (error.code === 'conflict') {
          return page({ form, diagnostics, outcome: { is: 'removes', message: error.message } }, 409);
        }
        if (error.code !== 'invalid-document' && error.code !== 'unavailable') throw error;
        const outcome = { is: 'refused', message: error.message, hint: error.hint } as const;
        return page({ form, diagnostics, outcome }, error.code === 'unavailable' ? 503 : 400);
      }
      return c.redirect(site.at(`${OPERATE_POLICIES}?applied=true`), 303);
    },
  );

  /** Returns undefined if other policies were applied since the page was shown. */
  async function apply(
    { text, expected }: PolicyForm,
    policies: SigningPolicy[],
    options: Parameters<typeof applyPolicies>[2],
  ) {
    const revision = (await store.policies())?.revision ?? 0;
    if (!options.dryRun && revision !== expected) return undefined;
    return applyPolicies(deps, { text, policies }, options);
  }
}
