import { fillPath } from '@krmhub/api/paths';
import type { RouteName } from '@krmhub/api/routes';
import type { TokenScope } from '@krmhub/api/token-scopes';
import { sha256 } from '@krmhub/schema';
import { newSecret } from '../../apps/registry/src/http/auth/tokens.js';
import { definitionText } from '../../apps/registry/src/testing/test-registry.js';

/** A route that changes something, or shows protected data. */
export interface GuardedRoute {
  method: string;
  /** Body of a request that changes something each time, where that is possible; `id` is a token's. */
  target(count: number, id: string): string;
  body?(count: number): string;
  type?: string;
  /** `none`: no token needed; `any`: any valid token. */
  needs: TokenScope | 'none' | 'any';
  /** Whether the group example.com is checked. */
  ofGroup: boolean;
  /** A permitted request needs a claim or a proof, so that it gets another error here than that of a missing right. */
  needsMore?: true;
  /** It has a body, and changes nothing. */
  isRead?: true;
}

/** Of an unknown key; readable only by clients that know it. */
function attestation(count: number): string {
  return attestationOf(sha256(definitionText({ kind, release: '1.0.0' })), count);
}

/** A statement about a definition, which nobody signed. */
export function attestationOf(definition: string, count: number): string {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ digest: { sha256: definition.slice('sha256:'.length) } }],
    predicateType: `https://example.com/tests/${count}`,
    predicate: {},
  };
  return JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint: 'nobody' } },
    dsseEnvelope: {
      payload: Buffer.from(JSON.stringify(statement)).toString('base64'),
      payloadType: 'application/vnd.in-toto+json',
      signatures: [{ sig: 'AAAA' }],
    },
  });
}

/** Nothing has it. */
const NO_ID = '00000000-0000-4000-8000-000000000000';
const kind = 'SetLabels';
const group = 'example.com';
const mark = (verb: 'yank' | 'unyank' | 'deprecate' | 'undeprecate'): GuardedRoute => ({
  method: 'POST',
  target: () => fillPath(verb, { group, kind, release: '1.0.0' }),
  body: (count) => JSON.stringify({ reason: `reason ${count}` }),
  type: 'application/json',
  needs: 'yank',
  ofGroup: true,
});

/** Every operation of the API contract that needs a token. */
export const GUARDED_ROUTES: Partial<Record<RouteName, GuardedRoute>> = {
  publish: {
    method: 'PUT',
    target: (count) => fillPath('release', { group, kind, release: `2.0.${count}` }),
    body: (count) => definitionText({ kind, release: `2.0.${count}` }),
    type: 'application/yaml',
    needs: 'publish',
    ofGroup: true,
  },
  attach: {
    method: 'POST',
    target: () => fillPath('bundles', { group, kind, release: '1.0.0' }),
    body: attestation,
    type: 'application/json',
    needs: 'publish',
    ofGroup: true,
  },
  applyPolicies: {
    method: 'PUT',
    target: () => fillPath('policies', {}),
    body: (count) => `# ${count}
apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: unused}
spec:
  groups: [unused.example.com]
  signers: [{issuer: "https://issuer.example.com", subject: "ci@example.com"}]
`,
    type: 'application/yaml',
    needs: 'admin',
    ofGroup: false,
  },
  // Only a token of a team can claim for it, and no role has a team.
  claimGroup: {
    method: 'POST',
    target: () => fillPath('claimGroup', { group }),
    body: () => JSON.stringify({ team: 'platform' }),
    type: 'application/json',
    needs: 'admin',
    ofGroup: false,
    needsMore: true,
  },
  verifyOwner: {
    method: 'POST',
    target: () => fillPath('verifyOwner', { group }),
    needs: 'publish',
    ofGroup: true,
    needsMore: true,
  },
  releaseGroup: {
    method: 'DELETE',
    target: () => fillPath('owner', { group }),
    needs: 'admin',
    ofGroup: false,
    needsMore: true,
  },
  trustedPublishers: {
    method: 'GET',
    target: () => fillPath('trustedPublishers', {}),
    needs: 'admin',
    ofGroup: false,
  },
  addPublisher: {
    method: 'POST',
    target: () => fillPath('trustedPublishers', {}),
    body: (count) =>
      JSON.stringify({
        group,
        provider: 'github',
        settings: { repository: `example/functions-${count}`, workflow: 'release.yml' },
      }),
    type: 'application/json',
    needs: 'admin',
    ofGroup: false,
  },
  checkPublishers: {
    method: 'POST',
    target: () => fillPath('checkPublishers', {}),
    body: () => JSON.stringify({ group, claims: {} }),
    type: 'application/json',
    needs: 'admin',
    ofGroup: false,
    isRead: true,
  },
  exchangeToken: {
    method: 'POST',
    target: () => fillPath('oidcToken', {}),
    body: () => JSON.stringify({ token: 'none' }),
    type: 'application/json',
    needs: 'none',
    ofGroup: false,
    needsMore: true,
  },
  requestLogin: {
    method: 'POST',
    target: () => fillPath('loginRequests', {}),
    body: () => JSON.stringify({ client: 'laptop' }),
    type: 'application/json',
    needs: 'none',
    ofGroup: false,
  },
  loginToken: {
    method: 'POST',
    target: () => fillPath('loginToken', {}),
    body: (count) => JSON.stringify({ secret: String(count).padStart(43, 'A') }),
    type: 'application/json',
    needs: 'none',
    ofGroup: false,
    needsMore: true,
  },
  removePublisher: {
    method: 'DELETE',
    target: () => fillPath('trustedPublisher', { id: NO_ID }),
    needs: 'admin',
    ofGroup: false,
    needsMore: true,
  },
  access: { method: 'GET', target: () => fillPath('access', {}), needs: 'admin', ofGroup: false },
  applyAccess: {
    method: 'PUT',
    target: () => fillPath('access', {}),
    body: (count) => `# ${count}
apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: {openGroups: ["*"]}
`,
    type: 'application/yaml',
    needs: 'admin',
    ofGroup: false,
  },
  checkAccess: {
    method: 'POST',
    target: () => fillPath('checkAccess', {}),
    body: () => JSON.stringify({ actor: 'anonymous', action: 'read', object: 'example.com' }),
    type: 'application/json',
    needs: 'admin',
    ofGroup: false,
    isRead: true,
  },
  yank: mark('yank'),
  unyank: mark('unyank'),
  deprecate: mark('deprecate'),
  undeprecate: mark('undeprecate'),
  takedown: {
    ...mark('deprecate'),
    target: () => fillPath('takedown', { group, kind: 'TakeDown', release: '1.0.0' }),
    needs: 'admin',
    ofGroup: false,
  },
  applyCatalog: {
    method: 'PUT',
    target: (count) => fillPath('catalog', { name: `platform-${count}` }),
    body: (count) => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: platform-${count}}
spec: {sources: [{name: ours, functions: {}}]}
`,
    type: 'application/yaml',
    needs: 'admin',
    ofGroup: false,
  },
  catalogReleases: {
    method: 'POST',
    target: () => fillPath('catalogReleases', { name: 'default' }),
    body: () => JSON.stringify({ functions: [{ group, kind }] }),
    type: 'application/json',
    needs: 'none',
    ofGroup: false,
    isRead: true,
  },
  deleteCatalog: {
    method: 'POST',
    target: () => fillPath('deleteCatalog', { name: 'deleted' }),
    body: (count) => JSON.stringify({ reason: `reason ${count}` }),
    type: 'application/json',
    needs: 'admin',
    ofGroup: false,
  },
  restoreCatalog: {
    method: 'POST',
    target: () => fillPath('restoreCatalog', { name: 'deleted' }),
    needs: 'admin',
    ofGroup: false,
  },
  cut: {
    method: 'POST',
    target: () => fillPath('cut', { name: 'default' }),
    needs: 'admin',
    ofGroup: false,
  },
  catalogInputs: {
    method: 'GET',
    target: () => fillPath('catalogInputs', { name: 'default' }),
    needs: 'admin',
    ofGroup: false,
  },
  refreshSource: {
    method: 'POST',
    target: () => fillPath('refreshSource', { name: 'collected', source: 'elsewhere' }),
    needs: 'admin',
    ofGroup: false,
  },
  sourceCopy: {
    method: 'GET',
    target: () => fillPath('sourceCopy', { name: 'collected', source: 'elsewhere' }),
    needs: 'admin',
    ofGroup: false,
  },
  reportConsumer: {
    method: 'PUT',
    target: () => fillPath('reportConsumer', {}),
    body: (count) =>
      JSON.stringify({
        name: `package-${count}`,
        releases: [{ group, kind, version: 'v1', release: '1.0.0' }],
      }),
    type: 'application/json',
    needs: 'any',
    ofGroup: false,
  },
  functionConsumers: {
    method: 'GET',
    target: () => fillPath('functionConsumers', { group, kind }),
    needs: 'publish',
    ofGroup: true,
  },
  whoami: { method: 'GET', target: () => fillPath('whoami', {}), needs: 'any', ofGroup: false },
  audit: { method: 'GET', target: () => fillPath('audit', {}), needs: 'audit', ofGroup: false },
  listTokens: { method: 'GET', target: () => fillPath('tokens', {}), needs: 'admin', ofGroup: false },
  createToken: {
    method: 'POST',
    target: () => fillPath('tokens', {}),
    body: (count) => JSON.stringify({ name: `made ${count}`, scopes: ['publish'] }),
    type: 'application/json',
    needs: 'admin',
    ofGroup: false,
  },
  revokeToken: {
    method: 'DELETE',
    target: (_, id) => fillPath('token', { id }),
    needs: 'admin',
    ofGroup: false,
  },
  users: { method: 'GET', target: () => fillPath('users', {}), needs: 'admin', ofGroup: false },
  user: {
    method: 'GET',
    target: () => fillPath('user', { id: NO_ID }),
    needs: 'admin',
    ofGroup: false,
    needsMore: true,
  },
  suspendUser: {
    method: 'POST',
    target: () => fillPath('suspendUser', { id: NO_ID }),
    needs: 'admin',
    ofGroup: false,
    needsMore: true,
  },
  restoreUser: {
    method: 'POST',
    target: () => fillPath('restoreUser', { id: NO_ID }),
    needs: 'admin',
    ofGroup: false,
    needsMore: true,
  },
  reportLeak: {
    method: 'POST',
    target: () => fillPath('reportLeak', {}),
    body: () => JSON.stringify({ token: newSecret() }),
    type: 'application/json',
    needs: 'none',
    ofGroup: false,
  },
};
