import type { PolicySet } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import { POLICY_LIMITS, readSigningPolicies, type SigningPolicy } from '@krmhub/catalog';
import { type Diagnostic, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Authority } from '../http/auth/authorize.js';
import { authorize, recheckToken } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import type { RegistryApp, RegistryContext } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { readYamlBody } from '../http/request-body.js';
import type { ApplyPoliciesDeps } from '../publish/trust/apply-policies.js';
import { applyPolicies } from '../publish/trust/apply-policies.js';
import { type SeenPolicyDeps, seenPolicies, seesEveryPolicy } from '../publish/trust/seen-policies.js';

/**
 * Routes of signing policies. Everybody may read whom the registry trusts for the groups that they may read; the text,
 * and when it was applied, is only for those who may read everything.
 */
type PolicyDeps = ApplyPoliciesDeps & Authority & SeenPolicyDeps;

export function policyRoutes(app: RegistryApp, deps: PolicyDeps): void {
  serveRoute(app, ROUTES.policies, async (c) => {
    const stored = await deps.store.policies();
    const result: PolicySet = {
      ...defined({
        text: seesEveryPolicy(deps) ? (stored?.text ?? '') : undefined,
        appliedAt: stored?.appliedAt,
        appliedBy: stored?.appliedBy,
      }),
      policies: seenPolicies(deps).map((policy) => ({ ...policy })),
    };
    return c.json(result);
  });

  serveRoute(app, ROUTES.applyPolicies, async (c, { query }) => {
    const caller = callerOf(c, await authorize(c, deps, 'admin'));
    const { text, policies, diagnostics } = await readPolicyBody(c);
    // One change at a time, and no publish sees policies that are half replaced.
    const result = await deps.functionLocks.run('policies', recheckToken(c), () =>
      applyPolicies(deps, { text, policies }, { ...caller, ...query }),
    );
    return c.json({ ...result, diagnostics });
  });
}

async function readPolicyBody(
  c: RegistryContext,
): Promise<{ text: string; policies: SigningPolicy[]; diagnostics: Diagnostic[] }> {
  const bytes = await readYamlBody(c, POLICY_LIMITS.maxBytes, {
    what: 'Policies',
    hint: 'Send them as application/yaml.',
  });
  const { policies, diagnostics } = readSigningPolicies(bytes, 'policies.yaml');
  if (policies === undefined) {
    throw new KrmhubError('invalid-document', 'invalid signing policies', { diagnostics });
  }
  return {
    text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
    policies,
    diagnostics,
  };
}
