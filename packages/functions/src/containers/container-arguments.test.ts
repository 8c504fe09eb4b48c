import { describe, expect, it } from 'vitest';
import { containerArguments, namedImageArguments } from './container-arguments.js';
import { type ContainerRun, ENGINE_NAMES } from './container-run.js';
import { pinnedImage } from './pinned-image.js';
import { mountArgument } from './storage-mount.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const run: ContainerRun = {
  engine: 'docker',
  program: '/usr/bin/docker',
  engineEnv: {},
  image: `example.com/functions/java:v1@${DIGEST}`,
  network: false,
  mounts: [],
  env: {},
};

describe('the arguments of an engine', () => {
  it.each(ENGINE_NAMES)('are those of kpt and more, for %s', (engine) => {
    const args = containerArguments({ ...run, engine }, 'krmhub-1');
    expect(args[0]).toBe('run');
    expect(args.at(-1)).toBe(`example.com/functions/java@${DIGEST}`);
    const text = ` ${args.join(' ')} `;
    for (const part of [
      '--rm',
      '--interactive',
      '--name krmhub-1',
      '--network none',
      '--user 65534:65534',
      '--security-opt=no-new-privileges',
      '--pull missing',
    ]) {
      expect(text).toContain(` ${part} `);
    }
    expect(text).not.toMatch(/ --(?:mount|env|volume|privileged|read-only) /);
  });

  it('do not let podman pass on the proxy of the user', () => {
    expect(containerArguments({ ...run, engine: 'podman' }, 'x')).toContain('--http-proxy=false');
  });

  it('have the network, mounts, and environment that were asked for', () => {
    const args = containerArguments(
      { ...run, network: true, mounts: ['type=bind,src=/a,dst=/b'], env: { A: 'x=y', EMPTY: '' } },
      'x',
    );
    const after = (name: string) => args.flatMap((arg, index) => (arg === name ? [args[index + 1]] : []));
    expect(after('--network')).toEqual(['host']);
    expect(after('--mount')).toEqual(['type=bind,source=/a,target=/b,readonly']);
    expect(after('--env')).toEqual(['A=x=y', 'EMPTY=']);
  });

  it.each(['', 'A=B', '-x', '1A', 'A B'])('have no environment variable %j', (name) => {
    expect(() => containerArguments({ ...run, env: { [name]: 'x' } }, 'x')).toThrow(
      /not a valid name of an environment/,
    );
  });
});

describe('the arguments for an image that the user named', () => {
  const named = { ...run, image: 'gcr.io/kpt-fn/set-labels:v0.1' };

  it('have the image as it is, and are the same otherwise', () => {
    const pinned = containerArguments(run, 'krmhub-1');
    expect(namedImageArguments(named, 'krmhub-1')).toEqual([...pinned.slice(0, -1), named.image]);
  });

  it('have the user, policy, and variables that were asked for', () => {
    const args = namedImageArguments(
      { ...named, pull: 'always', user: '1000:1000', passEnv: ['TOKEN'] },
      'krmhub-1',
    );
    const text = args.join(' ');
    expect(text).toContain('--user 1000:1000 ');
    expect(text).toContain('--pull always ');
    expect(text).toContain('--env TOKEN gcr.io/');
  });

  it.each(['--privileged', '-v', 'a b', ''])('cannot have the image %j', (image) => {
    expect(() => namedImageArguments({ ...named, image }, 'krmhub-1')).toThrow(/^the image /);
  });

  it('cannot have the variable "A=b"', () => {
    expect(() => namedImageArguments({ ...named, passEnv: ['A=b'] }, 'krmhub-1')).toThrow(/not a valid name/);
  });
});

describe('an image', () => {
  it.each([
    [`java@${DIGEST}`, `java@${DIGEST}`],
    [`localhost:5000/a/b:v1@${DIGEST}`, `localhost:5000/a/b@${DIGEST}`],
  ])('%s is pinned', (image, expected) => {
    expect(pinnedImage(image)).toBe(expected);
  });

  it.each([
    ['java', 'untrusted'],
    ['example.com/java:v1', 'untrusted'],
    ['java@sha256:abc', 'invalid-request'],
    ['--privileged', 'invalid-request'],
    ['', 'invalid-request'],
  ])('%j is rejected as %s', (image, code) => {
    expect(() => pinnedImage(image)).toThrow(expect.objectContaining({ code }));
  });
});

describe('a mount', () => {
  it.each([
    ['type=bind,source=/a,target=/b', 'type=bind,source=/a,target=/b,readonly'],
    ['src=/a,dst=/b', 'type=bind,source=/a,target=/b,readonly'],
    ['type=bind,src=/a,destination=/b,rw=true', 'type=bind,source=/a,target=/b'],
    ['type=bind,src=/a,dst=/b,rw=false', 'type=bind,source=/a,target=/b,readonly'],
    ['type=volume,src=cache,dst=/b', 'type=volume,source=cache,target=/b,readonly'],
    ['type=volume,dst=/b', 'type=volume,target=/b,readonly'],
    ['type=tmpfs,dst=/tmp', 'type=tmpfs,target=/tmp'],
  ])('%s becomes %s', (text, argument) => {
    expect(mountArgument(text)).toBe(argument);
  });

  it.each([
    '',
    'type=bind,source=/a',
    'type=bind,target=/b',
    'type=bind,source=a,target=/b',
    'type=bind,source=/a,target=b',
    'type=bind,source=/a,target=/b,source=/c',
    'type=bind,source=/a,target=/b,bind-propagation=shared',
    'type=bind,source=/a,target=/b,readonly',
    'type=bind,source=/a,target=/b,rw=yes',
    'type=bind,source=/a,target=/b,volume-opt=x',
    'type=npipe,source=/a,target=/b',
    'type=volume,source=/etc,target=/b',
    'type=tmpfs,source=/a,target=/b',
    'type=bind,source="/a,rw=true",target=/b',
    'type=bind,source=/a\n,target=/b',
    'type=bind,source=,target=/b',
    'constructor=x,source=/a,target=/b',
  ])('%j is rejected', (text) => {
    expect(() => mountArgument(text)).toThrow(expect.objectContaining({ code: 'invalid-request' }));
  });
});
