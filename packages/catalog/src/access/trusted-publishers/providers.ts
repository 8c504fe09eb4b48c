/**
 * Trusted publishers: which runs of CI workflows may publish without a stored secret.
 *
 * A provider signs a token about a run (OpenID Connect). This table says, for each provider, which claims of it name a
 * workflow, which identifiers are pinned because names can be registered again, and which runs are refused.
 * `checkClaims` (check-claims.ts) compares the claims with a publisher. Verifying signatures is not done here.
 *
 * @module
 */

import { CI_PROVIDERS, type CiProvider } from '@krmhub/schema';
import { parseUrl } from '@krmhub/schema/parse-url';
import { GITHUB_ISSUER, githubApi, githubSite } from './github-site.js';
import { GITHUB_TRIGGER, GITHUB_TRIGGER_RULES } from './github-triggers.js';
import { githubWorkflow, gitlabFile } from './workflow-file.js';

/** Claims of a verified token. */
export type Claims = Readonly<Record<string, unknown>>;

/** The name of a claim, or the names that lead to one inside of another. */
export type ClaimPath = string | readonly string[];

/** What a publisher says about a workflow. */
export interface ProviderSetting {
  claim: ClaimPath;
  meaning: string;
  example: string;
  isRequired?: true;
  /** Providers do not distinguish case there. */
  ignoresCase?: true;
  /** `*` matches any characters. */
  isPattern?: true;
  /** What every value matches that the claim can have. */
  form?: RegExp;
  /** The pin that identifies what it names: with the same one, another name is a new name. */
  pin?: string;
  /** Returns the part of the claim that is compared; undefined if the claim is not as the provider writes it. */
  part?: (value: string, claims: Claims) => string | undefined;
  /** Why the claim has no such part. */
  without?: string;
}

/** An identifier that never belongs to anything else, unlike a name. */
export interface ProviderPin {
  claim: ClaimPath;
  meaning: string;
}

/** Values of a claim with which a run is refused, or the only ones with which it is not. */
export type ProviderRule = { claim: ClaimPath; why: string } & (
  | { refused: readonly string[] }
  | {
      required: readonly string[];
      /** A setting with which a publisher names another value itself. */
      unless?: string;
    }
  /** Another claim that must be the same where both exist. */
  | { same: ClaimPath }
);

export interface Provider {
  title: string;
  /** Absent if each publisher names its issuer. */
  issuer?: string;
  /** Other issuers of this provider. Absent if it has none. */
  otherIssuers?: RegExp;
  /** One of these, for people. */
  issuerExample?: string;
  /** Issuers that belong to no other provider. */
  ownIssuers?: RegExp;
  /** Returns the URL of the web pages of the service whose runs have this issuer. Absent if no name is given as a URL. */
  site?: (issuer: string) => string | undefined;
  /** Returns the URL of the HTTP API of the service whose runs have this issuer. Absent if it has no public one. */
  api?: (issuer: string) => string | undefined;
  settings: Readonly<Record<string, ProviderSetting>>;
  pins: Readonly<Record<string, ProviderPin>>;
  rules: readonly ProviderRule[];
  /** Whether each token has an identifier of its own (`jti`). */
  hasTokenIds: boolean;
  /** Whether the audience can be a list of one. Others must be a text. */
  listsAudience: boolean;
  /** Whether its keys can be given, because the registry may not reach the issuer. */
  takesKeys: boolean;
  /** Claims of a run, for people who want to see it. */
  run: {
    /** Returns the page of the run. */
    url?: (claims: Claims) => string | undefined;
    commit?: ClaimPath;
    ref?: ClaimPath;
  };
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const ENVIRONMENT: ProviderSetting = {
  claim: 'environment',
  meaning: 'environment of the job',
  example: 'release',
};

const REF = {
  meaning: 'branch or tag, as a pattern',
  example: 'refs/tags/*',
  form: /^(?:refs\/|\*)/,
  isPattern: true,
} as const;

export const PROVIDERS = {
  github: {
    title: 'GitHub Actions',
    issuer: GITHUB_ISSUER,
    ownIssuers: /^https:\/\/token\.actions\.(?:githubusercontent\.com|[a-z0-9-]+\.ghe\.com)(?:\/|$)/i,
    // An enterprise with an issuer of its own, GitHub with data residency, and GitHub Enterprise Server.
    otherIssuers:
      /^https:\/\/(?:token\.actions\.githubusercontent\.com\/[A-Za-z0-9-]+|token\.actions\.[a-z0-9-]+\.ghe\.com|[a-z0-9.-]+(?::\d+)?\/_services\/token)$/,
    issuerExample: 'https://github.example.com/_services/token',
    site: githubSite,
    api: githubApi,
    settings: {
      repository: {
        claim: 'repository',
        meaning: 'repository',
        example: 'example/functions',
        form: /^[\w.-]+\/[\w.-]+$/,
        isRequired: true,
        ignoresCase: true,
        pin: 'repositoryId',
      },
      workflow: {
        claim: 'workflow_ref',
        meaning: 'file of the workflow that starts the run',
        example: 'release.yml',
        form: /^[^/]+\.ya?ml$/,
        isRequired: true,
        part: (value, { repository }) => githubWorkflow(value, repository),
        without: 'it is not a workflow of the repository itself',
      },
      environment: { ...ENVIRONMENT, ignoresCase: true },
      ref: { ...REF, claim: 'ref' },
      event: GITHUB_TRIGGER,
    },
    pins: {
      repositoryId: { claim: 'repository_id', meaning: 'the repository' },
      ownerId: { claim: 'repository_owner_id', meaning: 'the owner of the repository' },
    },
    rules: GITHUB_TRIGGER_RULES,
    hasTokenIds: true,
    listsAudience: false,
    takesKeys: false,
    run: {
      url: ({ repository, run_id, iss }) => {
        const isPublic = iss === GITHUB_ISSUER || text(iss)?.startsWith(`${GITHUB_ISSUER}/`) === true;
        return isPublic && text(repository) !== undefined && /^\d+$/.test(text(run_id) ?? '')
          ? `https://github.com/${repository}/actions/runs/${run_id}`
          : undefined;
      },
      commit: 'sha',
      ref: 'ref',
    },
  },
  gitlab: {
    title: 'GitLab CI/CD',
    issuer: 'https://gitlab.com',
    ownIssuers: /^https:\/\/gitlab\.com(?:\/|$)/i,
    otherIssuers: /^https:\/\/[a-z0-9.-]+(?::\d+)?(?:\/[A-Za-z0-9._/-]+)?$/,
    issuerExample: 'https://gitlab.example.com',
    site: (issuer) => issuer.replace(/\/$/, ''),
    api: (issuer) => `${issuer.replace(/\/$/, '')}/api/v4`,
    settings: {
      project: {
        claim: 'project_path',
        meaning: 'path of the project',
        example: 'example/functions',
        form: /^[\w.-]+(?:\/[\w.-]+)+$/,
        isRequired: true,
        ignoresCase: true,
        pin: 'projectId',
      },
      file: {
        claim: 'ci_config_ref_uri',
        meaning: 'file with the pipeline',
        example: '.gitlab-ci.yml',
        part: (value, { iss, project_path: project }) => gitlabFile(value, iss, project),
        without: 'it is not a file of the project itself',
      },
      // Those of GitLab differ by case: a job could name one that nobody protects.
      environment: ENVIRONMENT,
      ref: { ...REF, claim: 'ref_path' },
    },
    pins: {
      projectId: { claim: 'project_id', meaning: 'the project' },
      namespaceId: { claim: 'namespace_id', meaning: 'the namespace of the project' },
    },
    rules: [
      {
        claim: 'pipeline_source',
        refused: ['merge_request_event', 'external_pull_request_event'],
        why: 'it runs what a merge request proposes',
      },
      {
        claim: 'ref_protected',
        required: ['true'],
        why: 'anybody who can push could run it: protect the branch or tag',
      },
      { claim: 'job_project_id', same: 'project_id', why: 'the job ran in another project' },
    ],
    hasTokenIds: true,
    listsAudience: false,
    takesKeys: true,
    run: {
      url: ({ iss, project_path, job_id }) =>
        text(iss) !== undefined && text(project_path) !== undefined && /^\d+$/.test(text(job_id) ?? '')
          ? `${iss}/${project_path}/-/jobs/${job_id}`
          : undefined,
      commit: 'sha',
      ref: 'ref_path',
    },
  },
  buildkite: {
    title: 'Buildkite',
    issuer: 'https://agent.buildkite.com',
    ownIssuers: /^https:\/\/agent\.buildkite\.com(?:\/|$)/i,
    settings: {
      organization: {
        claim: 'organization_slug',
        meaning: 'slug of the organization',
        example: 'example',
        isRequired: true,
      },
      pipeline: {
        claim: 'pipeline_slug',
        meaning: 'slug of the pipeline',
        example: 'functions',
        isRequired: true,
      },
      branch: { claim: 'build_branch', meaning: 'branch, as a pattern', example: 'main', isPattern: true },
      tag: { claim: 'build_tag', meaning: 'tag, as a pattern', example: 'v*', isPattern: true },
    },
    pins: {
      organizationId: { claim: 'organization_id', meaning: 'the organization' },
      pipelineId: { claim: 'pipeline_id', meaning: 'the pipeline' },
    },
    rules: [],
    hasTokenIds: false,
    listsAudience: false,
    takesKeys: false,
    run: {
      url: (claims) => {
        const [organization, pipeline, build] = ['organization_slug', 'pipeline_slug', 'build_number'].map(
          (name) => claimText(claims, name),
        );
        return organization !== undefined && pipeline !== undefined && /^\d+$/.test(build ?? '')
          ? `https://buildkite.com/${organization}/${pipeline}/builds/${build}`
          : undefined;
      },
      commit: 'build_commit',
      ref: 'build_branch',
    },
  },
  circleci: {
    title: 'CircleCI',
    otherIssuers: /^https:\/\/oidc\.circleci\.com\/org\/[0-9a-f-]{36}$/,
    issuerExample: 'https://oidc.circleci.com/org/0a1b2c3d-0000-4000-8000-000000000001',
    ownIssuers: /^https:\/\/oidc\.circleci\.com(?:\/|$)/i,
    settings: {
      project: {
        claim: 'oidc.circleci.com/project-id',
        meaning: 'ID of the project',
        example: '0a1b2c3d-0000-4000-8000-000000000001',
        form: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
        isRequired: true,
      },
      origin: {
        claim: 'oidc.circleci.com/vcs-origin',
        meaning: 'repository, as a URL without scheme',
        example: 'github.com/example/functions',
        form: /^[\w.-]+\/[^:\s]+$/,
      },
      ref: { ...REF, claim: 'oidc.circleci.com/vcs-ref' },
    },
    pins: { organizationId: { claim: 'oidc.circleci.com/org-id', meaning: 'the organization' } },
    rules: [
      {
        claim: 'oidc.circleci.com/ssh-rerun',
        refused: ['true'],
        why: 'a person is logged in to its machine',
      },
    ],
    hasTokenIds: false,
    listsAudience: true,
    takesKeys: false,
    run: { ref: 'oidc.circleci.com/vcs-ref' },
  },
  kubernetes: {
    title: 'Kubernetes',
    otherIssuers: /^https:\/\/[^\s?#]+$/,
    issuerExample: 'https://kubernetes.default.svc',
    settings: {
      namespace: {
        claim: ['kubernetes.io', 'namespace'],
        meaning: 'namespace',
        example: 'ci',
        isRequired: true,
      },
      serviceAccount: {
        claim: ['kubernetes.io', 'serviceaccount', 'name'],
        meaning: 'service account',
        example: 'publisher',
        isRequired: true,
      },
    },
    pins: {
      serviceAccountUid: {
        claim: ['kubernetes.io', 'serviceaccount', 'uid'],
        meaning: 'the service account',
      },
    },
    rules: [],
    hasTokenIds: false,
    listsAudience: true,
    takesKeys: true,
    run: {},
  },
  google: {
    title: 'Google Cloud',
    issuer: 'https://accounts.google.com',
    ownIssuers: /^https:\/\/accounts\.google\.com(?:\/|$)/i,
    settings: {
      subject: {
        claim: 'sub',
        meaning: 'numeric ID of the service account, not its e-mail address',
        example: '113774264463038321964',
        form: /^\d+$/,
        isRequired: true,
      },
    },
    pins: {},
    rules: [],
    hasTokenIds: false,
    listsAudience: false,
    takesKeys: false,
    run: {},
  },
  custom: {
    title: 'Another issuer',
    otherIssuers: /^https:\/\/[^\s?#]+$/,
    issuerExample: 'https://ci.example.com',
    settings: {
      subject: { claim: 'sub', meaning: 'subject', example: 'build-42', isRequired: true },
    },
    pins: {},
    rules: [],
    hasTokenIds: false,
    listsAudience: false,
    takesKeys: true,
    run: {},
  },
} as const satisfies Record<CiProvider, Provider>;

export function provider(name: CiProvider): Provider {
  return PROVIDERS[name];
}

/** Returns a claim as text; numbers and booleans, which some providers send, as JSON. Undefined for anything else. */
export function claimText(claims: Claims, path: ClaimPath): string | undefined {
  let value: unknown = claims;
  for (const name of typeof path === 'string' ? [path] : path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  if (typeof value === 'number' || typeof value === 'boolean') return JSON.stringify(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Returns the name of a claim for people. */
export function claimName(path: ClaimPath): string {
  return typeof path === 'string' ? path : path.join('.');
}

/**
 * Reports whether an issuer can belong to a provider. The well-known issuer of a provider never counts as another
 * one: a custom issuer cannot pretend to be GitHub.
 */
export function isIssuerOf(name: CiProvider, issuer: string): boolean {
  const { issuer: known, otherIssuers } = provider(name);
  if (issuer === known) return true;
  // One spelling: others would be of a host that a message or a page does not seem to name.
  const url = parseUrl(issuer);
  const isPlain = url !== undefined && url.username + url.password === '' && !url.hostname.endsWith('.');
  const spelled = isPlain ? [url.href, url.origin] : [];
  if (!spelled.includes(issuer)) return false;
  const isTaken = CI_PROVIDERS.some(
    (other) => other !== name && provider(other).ownIssuers?.test(issuer) === true,
  );
  return !isTaken && otherIssuers?.test(issuer) === true;
}
