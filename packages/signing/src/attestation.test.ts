import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROVENANCE_PREDICATE, summarizeAttestation } from './attestation.js';
import { predicateStatement, readStatement, type Statement } from './statement.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const summary = (predicate: Record<string, unknown>) =>
  summarizeAttestation(predicateStatement({ digest: DIGEST }, PROVENANCE_PREDICATE, predicate));
const runDetails = { builder: { id: 'https://github.com/actions/runner/github-hosted' } };
const withSource = (externalParameters: unknown) =>
  summary({ runDetails, buildDefinition: { externalParameters } });
const REPOSITORY = 'https://github.com/example/functions';
const found = (repository?: string) => ({
  provenance: { builder: runDetails.builder.id, ...(repository === undefined ? {} : { repository }) },
});

describe('SLSA provenance', () => {
  it('of npm names the builder and the repository', () => {
    const file = path.join(
      import.meta.dirname,
      '../../../test/fixtures/signatures/sigstore-2.0.0-provenance.json',
    );
    const { dsseEnvelope } = JSON.parse(readFileSync(file, 'utf8'));
    const statement = readStatement(Buffer.from(dsseEnvelope.payload, 'base64')) as Statement;
    expect(summarizeAttestation(statement)).toEqual({
      provenance: {
        builder: 'https://github.com/actions/runner/github-hosted',
        repository: 'https://github.com/sigstore/sigstore-js',
      },
    });
  });

  it.each<[unknown, string | undefined]>([
    [{ workflow: { repository: REPOSITORY } }, REPOSITORY],
    [{ source: `git+${REPOSITORY}@refs/heads/main` }, REPOSITORY],
    [{ source: { uri: `git+${REPOSITORY}@${'a'.repeat(40)}`, digest: {} } }, REPOSITORY],
    [
      { source: { uri: 'git+ssh://git@github.com/example/functions' } },
      'ssh://git@github.com/example/functions',
    ],
    [{ workflow: { repository: REPOSITORY }, source: REPOSITORY }, REPOSITORY],
    [{ workflow: { repository: REPOSITORY }, source: 'https://github.com/evil/functions' }, undefined],
    [{ workflow: { repository: [REPOSITORY] } }, undefined],
    [{ workflow: { repository: `${REPOSITORY}\n` } }, undefined],
    [{ workflow: { repository: 'x'.repeat(3_000) } }, undefined],
    [{ workflow: null }, undefined],
    [undefined, undefined],
    ['text', undefined],
  ])('with %j has the repository %s', (externalParameters, repository) => {
    expect(withSource(externalParameters)).toEqual(found(repository));
  });

  it.each([
    {},
    { runDetails: null },
    { runDetails: { builder: 'x' } },
    { runDetails: [] },
    { buildDefinition: 5 },
  ])('without a builder has none: %j', (predicate) => {
    expect(summary(predicate)).toEqual({ provenance: {} });
  });

  it('is only that of version 1', () => {
    const other = predicateStatement({ digest: DIGEST }, 'https://slsa.dev/provenance/v0.2', { runDetails });
    expect(summarizeAttestation(other)).toEqual({});
  });
});
