import type { Digest, ExecPlatform, FunctionRuntime } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { type PinOptions, pinRuntime } from './pin-runtime.js';

const A = `sha256:${'a'.repeat(64)}` as Digest;
const B = `sha256:${'b'.repeat(64)}` as Digest;
const hex = (digest: Digest) => digest.slice('sha256:'.length);
const NAME = 'registry.example.com/functions/java';

const container = (image: string, more: object = {}): FunctionRuntime => ({ container: { image, ...more } });
const pin = (runtime: FunctionRuntime, options?: PinOptions) => pinRuntime(runtime, options);
const refused = (code: string, reason: string) => ({
  type: 'refused',
  code,
  reason: expect.stringContaining(reason),
  hint: expect.stringMatching(/\.$/),
});

describe('a container', () => {
  it('is pinned by the digest of the catalog or of its reference', () => {
    for (const runtime of [
      container(`${NAME}:v1`, { sha256: hex(A) }),
      container(`${NAME}@${A}`),
      container(`${NAME}:v1@${A}`, { sha256: hex(A) }),
    ]) {
      expect(pin(runtime)).toEqual({
        type: 'pinned',
        runtime: { type: 'container', image: `${NAME}@${A}`, network: false, storage: false },
        warnings: [],
      });
    }
  });

  it('without a digest is looked up by its tag, which is latest without one', () => {
    expect(pin(container(`${NAME}:v1`))).toEqual({ type: 'ask', reference: `${NAME}:v1` });
    expect(pin(container(NAME))).toEqual({ type: 'ask', reference: `${NAME}:latest` });
    const platforms = { 'linux/amd64': B };
    expect(pin(container(`${NAME}:v1`), { image: { digest: A, platforms } })).toEqual({
      type: 'pinned',
      runtime: { type: 'container', image: `${NAME}@${A}`, platforms, network: false, storage: false },
      warnings: [`the image ${NAME}:v1 has no digest; ${NAME}:v1 is now ${A}`],
    });
  });

  it('has what the catalog declares that it needs', () => {
    expect(pin(container(`${NAME}@${A}`, { requireNetwork: true }))).toMatchObject({
      runtime: { network: true, storage: false },
    });
    expect(pin(container(`${NAME}@${A}`, { requireStorageMount: true }))).toMatchObject({
      runtime: { network: false, storage: true },
    });
  });

  it.each([
    ['java:v1', 'docker.io/library/java'],
    ['example/module_providers/java:v1.0.0', 'docker.io/example/module_providers/java'],
    ['docker.io/java', 'docker.io/library/java'],
    ['localhost:5000/java', 'localhost:5000/java'],
  ])('%s is %s', (image, name) => {
    const plan = pin(container(image, { sha256: hex(A) }));
    expect(plan).toMatchObject({ type: 'pinned', runtime: { image: `${name}@${A}` } });
    const guessed = !/^(docker\.io|localhost)/.test(image);
    expect(plan.type === 'pinned' && plan.warnings).toEqual(
      guessed ? [`the image ${image} has no registry; krmhub uses ${name}, as Docker does`] : [],
    );
  });

  it('is refused where digests disagree', () => {
    expect(pin(container(`${NAME}@${A}`, { sha256: hex(B) }))).toEqual(refused('digest-mismatch', hex(B)));
    expect(pin(container(`${NAME}:v1`, { sha256: hex(A) }), { image: { digest: B } })).toEqual(
      refused('digest-mismatch', `has the digest ${B}, expected ${A}`),
    );
  });

  it.each([
    ['', {}],
    ['registry.example.com/UPPER:v1', {}],
    [`${NAME}:v1`, { sha256: 'a428de' }],
    [`${NAME}:v1`, { sha256: hex(A).toUpperCase() }],
    [`${NAME}@sha512:${'a'.repeat(128)}`, {}],
  ])('%s is refused if it is not valid', (image, more) => {
    expect(pin(container(image, more))).toEqual(refused('invalid-document', ''));
  });
});

describe('an executable', () => {
  const platform = (more: Partial<ExecPlatform> = {}): ExecPlatform => ({
    os: 'linux',
    arch: 'amd64',
    bin: 'java',
    uri: 'https://example.com/java.tar.gz',
    sha256: hex(A),
    ...more,
  });
  const exec = (...platforms: ExecPlatform[]): FunctionRuntime => ({ exec: { platforms } });

  it('is pinned on every platform', () => {
    expect(pin(exec(platform(), platform({ os: 'darwin', arch: 'arm64', sha256: hex(B) })))).toEqual({
      type: 'pinned',
      warnings: [],
      runtime: {
        type: 'exec',
        platforms: [
          { ...platform(), sha256: A },
          { ...platform(), os: 'darwin', arch: 'arm64', sha256: B },
        ],
      },
    });
  });

  it('may have its digest in an OCI reference', () => {
    const { sha256: _, ...rest } = platform({ uri: `oci://${NAME}@${B}` });
    expect(pin(exec(rest))).toMatchObject({ runtime: { platforms: [{ sha256: B }] } });
  });

  it.each([
    ['no digest', 'https://example.com/java'],
    ['a tag', `oci://${NAME}:v1`],
    ['a digest in a URL of the web', `https://example.com/java@${A}`],
  ])('with %s is refused', (_, uri) => {
    const { sha256: __, ...rest } = platform({ uri });
    expect(pin(exec(platform(), rest))).toEqual(refused('untrusted', `${uri} for linux/amd64 has no sha256`));
  });
});

describe('a function with several runtimes', () => {
  const script = 'https://example.com/java.star';
  const starlark = `${script}#sha256=${A.slice('sha256:'.length)}`;
  const all: FunctionRuntime = {
    starlark,
    exec: { platforms: [] },
    container: { image: `${NAME}@${A}` },
  };

  it('runs the container, else the executable, else the script', () => {
    expect(pin(all)).toMatchObject({ runtime: { type: 'container' } });
    expect(pin({ starlark, exec: { platforms: [] } })).toMatchObject({ runtime: { type: 'exec' } });
    expect(pin({ starlark })).toEqual({
      type: 'pinned',
      runtime: { type: 'starlark', reference: script, sha256: A },
      warnings: [],
    });
    expect(pin({ starlark: `oci://${NAME}@${B}` })).toMatchObject({ runtime: { sha256: B } });
    expect(pin({ starlark: `oci://${NAME}:v1#sha256=${A.slice(7)}` })).toMatchObject({
      runtime: { reference: `oci://${NAME}:v1`, sha256: A },
    });
  });

  it.each([
    ['no digest', script],
    ['a tag', `oci://${NAME}:v1`],
    ['a short digest', `${script}#sha256=abc`],
    ['a digest in a URL of the web', `${script}@${A}`],
  ])('does not run a script with %s', (_, one) => {
    expect(pin({ starlark: one })).toEqual(refused('untrusted', `the script ${one} has no digest`));
  });

  it('runs another one if the user says so', () => {
    expect(pin(all, { runtime: 'starlark' })).toMatchObject({ runtime: { type: 'starlark' } });
    expect(pin({ starlark }, { runtime: 'container' })).toEqual(
      refused('not-found', 'it has no container runtime, only starlark'),
    );
    expect(pin({})).toEqual(refused('invalid-document', 'it has no runtime'));
  });
});
