import type { SourceIdentity } from '@krmhub/schema';
import { expect, it } from 'vitest';
import { describeSource, workflowFile } from './describe-source.js';

const REPOSITORY = 'https://github.com/example/functions';
const SOURCE: SourceIdentity = {
  sourceRepositoryURI: REPOSITORY,
  sourceRepositoryDigest: '1a2b3c4d5e6f708192a3b4c5d6e7f80910a1b2c3',
  sourceRepositoryRef: 'refs/tags/v1.0.0',
  buildConfigURI: `${REPOSITORY}/.github/workflows/release.yml@refs/tags/v1.0.0`,
};

it.each<[SourceIdentity | undefined, string | undefined]>([
  [SOURCE, 'built from github.com/example/functions at 1a2b3c4 by release.yml on the tag v1.0.0'],
  [
    { ...SOURCE, sourceRepositoryRef: 'refs/heads/team/main' },
    'built from github.com/example/functions at 1a2b3c4 by release.yml on the branch team/main',
  ],
  [
    { ...SOURCE, sourceRepositoryRef: 'refs/pull/5/merge' },
    'built from github.com/example/functions at 1a2b3c4 by release.yml on refs/pull/5/merge',
  ],
  [
    {
      sourceRepositoryURI: REPOSITORY,
      buildSignerURI: 'https://github.com/other/builder/.github/workflows/b.yml@v1',
    },
    'built from github.com/example/functions by github.com/other/builder/.github/workflows/b.yml@v1',
  ],
  [{ sourceRepositoryURI: REPOSITORY }, 'built from github.com/example/functions'],
  [{ sourceRepositoryDigest: 'abc', buildConfigURI: SOURCE.buildConfigURI! }, undefined],
  [{}, undefined],
  [undefined, undefined],
])('%j is %s', (source, text) => {
  expect(describeSource(source)).toBe(text);
});

it.each([
  [`${REPOSITORY}/.github/workflows/a@b.yml@refs/heads/feature@2`, `${REPOSITORY}/.github/workflows/a@b.yml`],
  [`${REPOSITORY}/.github/workflows/r.yml@${'a'.repeat(40)}`, `${REPOSITORY}/.github/workflows/r.yml`],
  ['https://gitlab.com/g/p//.gitlab-ci.yml@refs/heads/main', 'https://gitlab.com/g/p//.gitlab-ci.yml'],
  [`${REPOSITORY}/.github/workflows/r.yml`, `${REPOSITORY}/.github/workflows/r.yml`],
])('%s is the workflow %s', (uri, file) => {
  expect(workflowFile(uri, undefined)).toBe(file);
});

it('a file with the text of a ref in its name is not another file', () => {
  const uri = 'https://gitlab.com/g/p//ci.yml@refs/evil.yml@refs/heads/main';
  expect(workflowFile(uri, 'refs/heads/main')).toBe('https://gitlab.com/g/p//ci.yml@refs/evil.yml');
});
