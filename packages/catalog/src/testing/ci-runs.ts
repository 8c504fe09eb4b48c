import type { CiProvider } from '@krmhub/schema';
import type { Claims } from '../access/trusted-publishers/providers.js';

/** A run of each provider as its documents describe it, and the settings of a publisher that it matches. */
export const RUNS: Record<CiProvider, { issuer?: string; settings: Record<string, string>; claims: Claims }> =
  {
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
      settings: {
        project: '0a1b2c3d-0000-4000-8000-000000000001',
        origin: 'github.com/example/functions',
        ref: 'refs/tags/*',
      },
      issuer: 'https://oidc.circleci.com/org/00000000-0000-4000-8000-000000000002',
      claims: {
        'oidc.circleci.com/project-id': '0a1b2c3d-0000-4000-8000-000000000001',
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

/** What a changed claim of such a run must refuse. */
export const REFUSED_RUNS: readonly (readonly [CiProvider, Claims])[] = [
  ['github', { event_name: 'pull_request_target' }],
  ['github', { event_name: 'workflow_run' }],
  ...[
    ...['pull_request', 'pull_request_review', 'pull_request_review_comment', 'issues', 'issue_comment'],
    ...['discussion', 'discussion_comment', 'fork', 'watch', 'gollum', 'check_run', 'status', 'dynamic'],
    ...['deployment', 'deployment_status'],
    ...['Push', 'push ', '', undefined],
  ].map((event_name) => ['github', { event_name }] as const),
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
];
