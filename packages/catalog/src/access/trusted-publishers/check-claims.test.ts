import { CI_PROVIDERS, type CiProvider } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { REFUSED_RUNS, RUNS } from '../../testing/ci-runs.js';
import {
  addCommand,
  breaksOnlyRules,
  checkClaims,
  describeRun,
  namesSource,
  pinned,
  probableProvider,
  type TrustedPublisher,
} from './check-claims.js';
import { isIssuerOf, provider } from './providers.js';

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

  it('names its source: a repository, or all that names the account of a namespace', () => {
    const [first, ...others] = Object.entries(provider(name).settings);
    const isOwn = (setting: string) =>
      namesSource(publisher(name, { settings: { ...settings, [setting]: 'another' } }), claims);
    expect(isOwn(first![0])).toBe(false);
    for (const [setting, { isRequired }] of others) {
      expect(isOwn(setting), setting).toBe(isRequired !== true || first![1].pin !== undefined);
    }
  });

  it('is probably the one that signed its claims', () => {
    const { issuer, issuerExample } = provider(name);
    expect(probableProvider(issuer ?? issuerExample!, claims)).toBe(name);
    expect(probableProvider('https://unknown.example.com', {})).toBe('custom');
  });

  it('describes the run without what a terminal would interpret', () => {
    const hostile = JSON.parse(JSON.stringify(claims).replaceAll('functions', 'fun\\u001b[31m\\u202e'));
    expect(JSON.stringify(describeRun(trusted, hostile))).not.toMatch(/\\u001b|\u202e/);
  });
});

it.each(REFUSED_RUNS)('a run of %s is refused with %j', (name, changed) => {
  const { settings, claims } = RUNS[name];
  expect(checkClaims(publisher(name, { settings }), { ...claims, ...changed })).not.toEqual([]);
});

it('a trigger that strangers can cause is allowed only by a publisher that names it, and some never', () => {
  const { settings, claims } = RUNS.github;
  const run = (event_name: string, event?: string) => {
    const wanted = publisher('github', {
      settings: { ...settings, ...(event === undefined ? {} : { event }) },
    });
    const problems = checkClaims(wanted, { ...claims, event_name });
    return { problems, isRule: breaksOnlyRules(wanted, problems) };
  };
  const comment = run('issue_comment');
  expect(comment).toMatchObject({
    problems: [{ claim: 'event_name', found: 'issue_comment', why: expect.stringContaining('--set event=') }],
    isRule: false,
  });
  expect(comment.problems[0]!.expected).toContain('push or release');
  for (const named of ['issue_comment', 'deployment', 'deployment_status'])
    expect(run(named, named).problems).toEqual([]);
  expect(run('push', 'issue_comment')).toMatchObject({ problems: [{ found: 'push' }], isRule: false });
  expect(run('workflow_run')).toMatchObject({ problems: [{ found: 'workflow_run' }], isRule: true });
  for (const event of ['workflow_run', 'pull_request_target']) {
    expect(run(event, event)).toMatchObject({ problems: [{ found: event }], isRule: true });
    expect(provider('github').settings.event?.form?.test(event)).toBe(false);
  }
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
  ['custom', 'https://issuer.example.com', true],
  ['custom', 'https://issuer.example.com/', true],
  ['custom', 'https://issuer.example.com:8443/a/B', true],
  ['custom', 'https://issuer.example.com:443', false],
  ['custom', 'https://Issuer.example.com', false],
  ['custom', 'https://user@issuer.example.com', false],
  ['custom', 'https://accounts.google.com@issuer.example.com', false],
  ['custom', 'https://issuer.example.com/a/../b', false],
  ['custom', 'https://issuer.example.com/%2e%2e/b', false],
  ['custom', 'https://issuer.ex\u00e4mple.com', false],
  ['custom', 'https://accounts.google.com:443', false],
  ['custom', 'https://accounts.google.com.', false],
  ['kubernetes', 'https://token.actions.githubusercontent.com.', false],
  ['custom', 'https:issuer.example.com', false],
  ['custom', 'http://issuer.example.com', false],
  ['github', 'https://github.example.com@evil.example/_services/token', false],
] as const)('an issuer of %s: %s %s', (name, issuer, expected) => {
  expect(isIssuerOf(name, issuer)).toBe(expected);
});

it.each([
  ['github', 'repository', { repository: 'Example/Renamed' }],
  ['gitlab', 'project_path', { project_path: 'example/renamed' }],
] as const)(
  'a source of %s with its pinned ID and another name is the same one, renamed',
  (name, claim, more) => {
    const { settings, claims } = RUNS[name];
    const trusted = publisher(name, { settings, pins: pinned(publisher(name, { settings }), claims) });
    const renamed = { ...claims, ...more };
    expect(namesSource(trusted, renamed)).toBe(true);
    expect(checkClaims(trusted, renamed)[0]).toMatchObject({
      claim,
      why: expect.stringContaining('another name'),
    });
    const [pin] = Object.values(provider(name).pins);
    const another = { ...renamed, [String(pin!.claim)]: '999' };
    expect(namesSource(trusted, another)).toBe(false);
    expect(namesSource({ ...trusted, pins: {} }, renamed)).toBe(false);
  },
);

it('a file of the pipeline is one of the project itself', () => {
  const { settings, claims } = RUNS.gitlab;
  const trusted = publisher('gitlab', { settings: { ...settings, file: '.gitlab-ci.yml' } });
  const at = (place: string) => ({ ...claims, ci_config_ref_uri: `${place}//.gitlab-ci.yml@refs/tags/v1` });
  const { project_path: project } = claims as { project_path: string };
  expect(checkClaims(trusted, at(`gitlab.com/${project}`))).toEqual([]);
  expect(checkClaims(trusted, at(`gitlab.com/${project.toUpperCase()}`))).toEqual([]);
  expect(checkClaims(trusted, at(`GitLab.com/${project}`))).toEqual([]);
  for (const place of [
    ...['evil/x', `evil-${project}`, `evil/${project}`].map((path) => `gitlab.com/${path}`),
    ...[`evil.example/${project}`, `gitlab.com.evil.example/${project}`, `gitlab.com:8443/${project}`],
    ...[`/${project}`, project, `${project}/evil`, ''],
  ]) {
    const why = 'it is not a file of the project itself';
    expect(checkClaims(trusted, at(place)), place).toEqual([expect.objectContaining({ why })]);
  }
  const iss = 'https://git.example.com:8443/gitlab';
  const ofInstance = (place: string) =>
    checkClaims({ ...trusted, issuer: iss }, { ...at(place), iss }).length === 0;
  expect(ofInstance(`git.example.com:8443/gitlab/${project}`)).toBe(true);
  for (const host of ['git.example.com:8443', 'git.example.com/gitlab', 'gitlab', 'gitlab.com'])
    expect(ofInstance(`${host}/${project}`), host).toBe(false);
});

it('tells an owner who only has the same name from one of another name', () => {
  const { settings, claims } = RUNS.github;
  const trusted = publisher('github', { settings, pins: { repositoryId: '1', ownerId: '2' } });
  const whys = (more: Record<string, unknown>) =>
    checkClaims(trusted, { ...claims, repository_owner_id: '3', ...more }).map(({ why }) => why);
  expect(whys({})).toEqual(['the owner of the repository has the same name, but is another one']);
  const moved = 'new/functions';
  expect(whys({ repository: moved, workflow_ref: `${moved}/.github/workflows/release.yml@refs/x` })).toEqual([
    'the repository has another name now',
    'the owner of the repository is another one now',
  ]);
  expect(
    whys({ repository_owner_id: '2', workflow_ref: `a/b/.github/workflows/release.yml@refs/x` }),
  ).toEqual(['it is not a workflow of the repository itself']);
});

it('compares environments of GitLab by case, as GitLab protects them', () => {
  const { settings, claims } = RUNS.gitlab;
  const trusted = publisher('gitlab', { settings: { ...settings, environment: 'release' } });
  expect(checkClaims(trusted, { ...claims, environment: 'release' })).toEqual([]);
  expect(checkClaims(trusted, { ...claims, environment: 'Release' })).toEqual([
    { claim: 'environment', expected: 'release', found: 'Release' },
  ]);
});

it('compares environments of GitHub by the case of A to Z only', () => {
  const { settings, claims } = RUNS.github;
  const trusted = publisher('github', { settings: { ...settings, environment: 'K8s-Release' } });
  expect(checkClaims(trusted, { ...claims, environment: 'k8s-release' })).toEqual([]);
  expect(checkClaims(trusted, { ...claims, environment: '\u212a8s-release' })).toHaveLength(1);
});

it('compares claims of any length in linear time', () => {
  for (const name of ['github', 'gitlab'] as const) {
    const { settings, claims } = RUNS[name];
    const long = '//'.repeat(500_000);
    const hostile = Object.fromEntries(Object.keys(claims).map((claim) => [claim, `${long}.yml`]));
    const file = name === 'gitlab' ? { file: '.gitlab-ci.yml' } : {};
    const found = checkClaims(publisher(name, { settings: { ...settings, ...file } }), hostile);
    expect(found.length).toBeGreaterThan(1);
  }
});

it('writes the command that adds a workflow, without anything that a shell would read in another way', () => {
  const github = 'https://token.actions.githubusercontent.com';
  const add = (issuer: string, claims: Record<string, unknown>) =>
    addCommand('example.com', { issuer, claims });
  expect(add(github, RUNS.github.claims)).toBe(
    'krmhub publisher add example.com --github Example/Functions --workflow release.yml',
  );
  expect(add('https://gitlab.example.com', RUNS.gitlab.claims)).toMatch(
    /^krmhub publisher add example\.com --gitlab \S+ --issuer https:\/\/gitlab\.example\.com$/,
  );
  const account = { 'kubernetes.io': { namespace: 'ci', serviceaccount: { name: 'publisher' } } };
  expect(add('https://kubernetes.default.svc', account)).toBe(
    'krmhub publisher add example.com --provider kubernetes --set namespace=ci --set serviceAccount=publisher --issuer https://kubernetes.default.svc',
  );
  // Claims of a cluster that have the names of another provider.
  const { claims } = RUNS.gitlab;
  expect(add('https://gitlab.example.com', { ...claims, ...account })).toContain('--provider kubernetes');
  for (const sub of ['a b', '$(id)', 'a;b', '-x', "a'b", 'a\nb', undefined])
    expect(add('https://ci.example.com', { sub })).toBe('krmhub publisher add example.com');
  expect(add('https://ci.example.com', { sub: 'a'.repeat(301) })).toBe('krmhub publisher add example.com');
  expect(add(github, { ...RUNS.github.claims, workflow_ref: 'x' })).toBe('krmhub publisher add example.com');
});

it('shows printable characters of claims, and not all of a long one', () => {
  const { settings, claims } = RUNS.gitlab;
  const long = `1\u001b[31m\n${'x'.repeat(9_000)}`;
  const problems = checkClaims(publisher('gitlab', { settings }), {
    ...claims,
    project_id: long,
    job_project_id: long.slice(1),
  });
  expect(problems.map(({ claim }) => claim)).toContain('job_project_id');
  for (const { expected, found = '' } of problems) {
    expect(expected + found).toMatch(/^[\x20-\x7e…]*$/);
    expect(Math.max(expected.length, found.length)).toBeLessThanOrEqual(301);
  }
});
