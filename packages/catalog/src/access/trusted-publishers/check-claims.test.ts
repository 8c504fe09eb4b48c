import { CI_PROVIDERS, type CiProvider } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { checkClaims, describeRun, namesSource, pinned, type TrustedPublisher } from './check-claims.js';
import { type Claims, isIssuerOf, provider } from './providers.js';

const publisher = (name: CiProvider, more: Partial<TrustedPublisher>): TrustedPublisher => ({
  id: '1',
  group: 'example.com',
  provider: name,
  issuer: provider(name).issuer ?? 'https://issuer.example.com',
  settings: {},
  pins: {},
  createdAt: '2030-01-01T00:00:00.000Z',
  createdBy: 'admin',
  ...more,
});

/** A run of each provider as its documents describe it, and the settings of a publisher that it matches. */
const RUNS: Record<CiProvider, { settings: Record<string, string>; claims: Claims }> = {
  github: {
    settings: {
      repository: 'example/functions',
      workflow: 'release.yml',
      environment: 'Release',
      ref: 'refs/tags/*',
    },
    claims: {
      iss: 'https://token.actions.githubusercontent.com',
      sub: 'repo:example@2/functions@1:environment:release',
      repository: 'Example/Functions',
      repository_id: '1',
      repository_owner_id: '2',
      workflow_ref: 'Example/functions/.github/workflows/release.yml@refs/tags/v1@2.yml',
      environment: 'release',
      ref: 'refs/tags/v1@2.yml',
      sha: 'c0ffee',
      event_name: 'push',
      run_id: '7',
      repo_property_team: 'new claims are no reason to refuse',
    },
  },
  gitlab: {
    settings: { project: 'example/functions', file: '.gitlab-ci.yml', ref: 'refs/tags/*' },
    claims: {
      iss: 'https://gitlab.com',
      project_path: 'example/functions',
      project_id: '1',
      namespace_id: '2',
      job_project_id: '1',
      ci_config_ref_uri: 'gitlab.com/example/functions//.gitlab-ci.yml@refs/tags/v1',
      ref_path: 'refs/tags/v1',
      ref_protected: 'true',
      pipeline_source: 'push',
      sha: 'c0ffee',
      job_id: '7',
    },
  },
  buildkite: {
    settings: { organization: 'example', pipeline: 'functions', tag: 'v*' },
    claims: {
      organization_slug: 'example',
      organization_id: 'uuid-1',
      pipeline_slug: 'functions',
      pipeline_id: 'uuid-2',
      build_tag: 'v1.0.0',
      build_branch: 'main',
      build_commit: 'c0ffee',
      build_number: 7,
    },
  },
  circleci: {
    settings: { project: 'p-1', origin: 'github.com/example/functions', ref: 'refs/tags/*' },
    claims: {
      'oidc.circleci.com/project-id': 'p-1',
      'oidc.circleci.com/org-id': 'o-1',
      'oidc.circleci.com/vcs-origin': 'github.com/example/functions',
      'oidc.circleci.com/vcs-ref': 'refs/tags/v1',
      'oidc.circleci.com/ssh-rerun': false,
    },
  },
  kubernetes: {
    settings: { namespace: 'ci', serviceAccount: 'publisher' },
    claims: { 'kubernetes.io': { namespace: 'ci', serviceaccount: { name: 'publisher', uid: 'u-1' } } },
  },
  google: { settings: { subject: '1137' }, claims: { sub: '1137', email: 'ci@example.com' } },
  custom: { settings: { subject: 'build' }, claims: { sub: 'build' } },
};

describe.each(CI_PROVIDERS)('a publisher of %s', (name) => {
  const { settings, claims } = RUNS[name];
  const trusted = publisher(name, { settings });

  it('matches its own run, and pins what cannot be taken over', () => {
    expect(checkClaims(trusted, claims)).toEqual([]);
    expect(namesSource(trusted, claims)).toBe(true);
    const pins = pinned(trusted, claims);
    expect(Object.keys(pins)).toEqual(Object.keys(provider(name).pins));
    expect(checkClaims({ ...trusted, pins }, claims)).toEqual([]);
    for (const pin of Object.keys(pins)) {
      const taken = checkClaims({ ...trusted, pins: { ...pins, [pin]: 'other' } }, claims);
      expect(taken, pin).toEqual([expect.objectContaining({ expected: 'other', why: expect.any(String) })]);
    }
  });

  it('does not match if any setting is another one, or the token says nothing of it', () => {
    for (const [setting, value] of Object.entries(settings)) {
      for (const other of [`${value}x`, `x${value}`, '']) {
        const problems = checkClaims({ ...trusted, settings: { ...settings, [setting]: other } }, claims);
        expect(problems.length, `${setting} ${other}`).toBe(1);
      }
      expect(checkClaims(trusted, {}).length).toBeGreaterThanOrEqual(Object.keys(settings).length);
    }
  });

  it('describes the run without what a terminal would interpret', () => {
    const hostile = JSON.parse(JSON.stringify(claims).replaceAll('functions', 'fun\\u001b[31m\\u202e'));
    expect(JSON.stringify(describeRun(name, hostile))).not.toMatch(/\\u001b|\u202e/);
  });
});

it.each([
  ['github', { event_name: 'pull_request_target' }],
  ['github', { event_name: 'workflow_run' }],
  ['github', { repository_owner_id: undefined }],
  ['github', { workflow_ref: 'evil/functions/.github/workflows/release.yml@refs/heads/main' }],
  ['github', { workflow_ref: 'Example/functions/.github/workflows/release.yml' }],
  ['github', { workflow_ref: 'Example/functions/release.yml@refs/heads/main' }],
  ['gitlab', { pipeline_source: 'merge_request_event' }],
  ['gitlab', { ref_protected: 'false' }],
  ['gitlab', { ref_protected: undefined }],
  ['gitlab', { job_project_id: '9' }],
  ['buildkite', { pipeline_id: undefined }],
  ['circleci', { 'oidc.circleci.com/ssh-rerun': true }],
  ['circleci', { 'oidc.circleci.com/ssh-rerun': 'true' }],
  ['kubernetes', { 'kubernetes.io': { namespace: 'ci', serviceaccount: { name: 'publisher' } } }],
  ['kubernetes', { 'kubernetes.io': 'ci' }],
  ['google', { sub: { toString: '1137' } }],
] as const)('a run of %s is refused with %j', (name, changed) => {
  const { settings, claims } = RUNS[name];
  expect(checkClaims(publisher(name, { settings }), { ...claims, ...changed })).not.toEqual([]);
});

it.each([
  ['github', 'https://token.actions.githubusercontent.com', true],
  ['github', 'https://token.actions.githubusercontent.com/example-inc', true],
  ['github', 'https://token.actions.example.ghe.com', true],
  ['github', 'https://github.example.com/_services/token', true],
  ['github', 'https://token.actions.githubusercontent.com.evil.example', false],
  ['github', 'http://github.example.com/_services/token', false],
  ['github', 'https://token.actions.githubusercontent.com/a/b', false],
  ['gitlab', 'https://gitlab.com', true],
  ['gitlab', 'https://git.example.com/gitlab', true],
  ['gitlab', 'https://token.actions.githubusercontent.com', false],
  ['circleci', 'https://oidc.circleci.com/org/00000000-0000-4000-8000-000000000000', true],
  ['circleci', 'https://oidc.circleci.com/org/', false],
  ['kubernetes', 'https://kubernetes.default.svc.cluster.local', true],
  ['custom', 'https://issuer.example.com/x', true],
  ['custom', 'https://accounts.google.com', false],
  ['custom', 'https://agent.buildkite.com', false],
  ['custom', 'https://oidc.circleci.com/org/00000000-0000-4000-8000-000000000000', false],
  ['custom', 'https://TOKEN.actions.githubusercontent.com', false],
  ['kubernetes', 'https://gitlab.com', false],
  ['buildkite', 'https://issuer.example.com', false],
] as const)('an issuer of %s: %s %s', (name, issuer, expected) => {
  expect(isIssuerOf(name, issuer)).toBe(expected);
});
