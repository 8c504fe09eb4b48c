import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RUN_LIMITS } from '../limits.js';
import { sampleInput } from '../testing/runtime-contract.js';
import type { ContainerRun } from './container-run.js';
import { findEngine } from './find-engine.js';
import { pullImage } from './images.js';
import { runContainer } from './run-container.js';

/** How engines answer that are not installed or do not run: scripts with the words of the real programs. */
const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-engines-'));

const image = `example.com/functions/java@sha256:${'a'.repeat(64)}`;
const NO_DAEMON =
  'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?';

/** A folder with engines; each script gets its arguments, and a file for what it was asked. */
function engines(scripts: Record<string, string>) {
  const bin = mkdtempSync(path.join(folder, 'bin-'));
  const asked = path.join(bin, 'asked');
  writeFileSync(asked, '');
  for (const [name, script] of Object.entries(scripts)) {
    const text = `#!/bin/sh\nasked=${asked}\necho "$*" >>$asked\n${script}\n`;
    writeFileSync(path.join(bin, name), text, { mode: 0o755 });
  }
  return {
    env: { PATH: `${bin}:/usr/bin:/bin` },
    bin,
    asked: () => readFileSync(asked, 'utf8').trim().split('\n'),
  };
}

const isolated = (env: { PATH: string }) => ({ PATH: env.PATH.split(':')[0]! });

describe('the engine', () => {
  it('is the first that runs', async () => {
    const { env, bin } = engines({ docker: `echo "${NO_DAEMON}" >&2; exit 1`, nerdctl: 'echo Client:' });
    expect(await findEngine({ env: isolated(env) })).toMatchObject({
      engine: 'nerdctl',
      program: path.join(bin, 'nerdctl'),
    });
  });

  it('is podman if podman has the name of docker', async () => {
    const { env } = engines({ docker: 'echo "Client:       Podman Engine"' });
    expect(await findEngine({ env: isolated(env) })).toMatchObject({ engine: 'podman' });
  });

  it('must be installed', async () => {
    const { env } = engines({});
    await expect(findEngine({ env: isolated(env) })).rejects.toMatchObject({
      code: 'unavailable',
      message: 'cannot run containers: docker, podman, and nerdctl are not installed',
    });
    await expect(findEngine({ env: isolated(env), engine: 'podman' })).rejects.toMatchObject({
      message: 'cannot run containers: podman is not installed',
    });
    await expect(findEngine({ env: {} })).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is never a program of the working directory', async () => {
    const { bin } = engines({ docker: 'echo ran' });
    const relative = path.relative(process.cwd(), bin);
    await expect(findEngine({ env: { PATH: `:${relative}:.` } })).rejects.toMatchObject({
      code: 'unavailable',
    });
    mkdirSync(path.join(bin, 'folder/docker'), { recursive: true });
    await expect(findEngine({ env: { PATH: path.join(bin, 'folder') } })).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  it('must run', async () => {
    const docker = `echo "${NO_DAEMON}" >&2; exit 1`;
    const { env } = engines({
      docker,
      podman: 'echo "Error: unable to connect to Podman socket" >&2; exit 125',
    });
    await expect(findEngine({ env: isolated(env), engine: 'docker' })).rejects.toMatchObject({
      code: 'unavailable',
      message: `cannot use docker: docker is not running: ${NO_DAEMON}`,
      hint: expect.stringContaining('systemctl start docker'),
    });
    await expect(findEngine({ env: isolated(env) })).rejects.toMatchObject({
      message: expect.stringMatching(/docker is not running.*; .*podman is not running: unable to connect/),
    });
  });
});

describe('a run in a container', () => {
  const LIST = `'{"kind":"ResourceList","items":[]}'`;
  const container = (bin: string, env: object): ContainerRun => ({
    engine: 'docker',
    program: path.join(bin, 'docker'),
    engineEnv: env as Record<string, string>,
    image,
    network: false,
    mounts: [],
    env: {},
  });
  const start = (docker: string, signal?: AbortSignal, timeout = DEFAULT_RUN_LIMITS.timeout) => {
    const { env, bin, asked } = engines({ docker });
    const limits = { ...DEFAULT_RUN_LIMITS, timeout };
    return { ran: runContainer(container(bin, env), sampleInput('echo'), limits, signal), asked };
  };

  it('reports that the daemon has stopped', async () => {
    const { ran } = start(`echo "docker: ${NO_DAEMON}" >&2; exit 125`);
    await expect(ran).rejects.toMatchObject({
      code: 'unavailable',
      message: `cannot run ${image}: docker is not running: ${NO_DAEMON}`,
    });
  });

  it('reports the last line of an engine that fails, after its progress', async () => {
    const { ran } = start(
      'echo "Unable to find image locally" >&2; echo "docker: Error response from daemon: manifest unknown." >&2; ' +
        `echo "See 'docker run --help'." >&2; exit 125`,
    );
    await expect(ran).rejects.toMatchObject({
      code: 'unavailable',
      message: `cannot run ${image}: docker failed: Error response from daemon: manifest unknown.`,
    });
  });

  it('tells a function that exits with 125 from nothing else, and with 126 and 127 by the words of the runtime', async () => {
    await expect(start('exit 125').ran).rejects.toMatchObject({ code: 'unavailable' });
    await expect(
      start('echo "docker: OCI runtime create failed: exec /x: no such file" >&2; exit 127').ran,
    ).rejects.toMatchObject({ code: 'unavailable' });
    expect(await start('echo "helm: not found" >&2; exit 127').ran).toMatchObject({ exitCode: 127 });
  });

  it('is reported as killed for the exit code of a signal', async () => {
    await expect(start('exit 137').ran).rejects.toMatchObject({
      code: 'function-failed',
      message: `function ${image} was killed by SIGKILL: it may have used too much memory`,
    });
  });

  it('leaves the container of a function that ended to the engine', async () => {
    const { ran, asked } = start(`cat >/dev/null; echo ${LIST}`);
    expect((await ran).exitCode).toBe(0);
    expect(asked()).toHaveLength(1);
  });

  it('removes a container that appears only after its command line was killed', async () => {
    const { ran, asked } = start(
      'if [ "$1" = run ]; then trap "" TERM; sleep 60 & wait; fi\n' +
        'if [ "$(grep -c "^rm" $asked)" -lt 3 ]; then echo "Error: No such container: $3" >&2; exit 1; fi',
      undefined,
      500,
    );
    await expect(ran).rejects.toMatchObject({ code: 'function-failed' });
    const name = /--name (krmhub-\S+)/.exec(asked()[0]!)![1];
    expect(asked().slice(1)).toEqual(Array(3).fill(`rm --force ${name}`));
  });

  it('names a container that cannot be removed', async () => {
    const { ran } = start(
      'if [ "$1" = run ]; then sleep 60; fi; echo "Error: timed out" >&2; exit 1',
      undefined,
      500,
    );
    await expect(ran).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^cannot remove the container krmhub-/),
      hint: expect.stringMatching(/^Remove it: docker rm --force krmhub-/),
    });
  });

  it('pulls an image once', async () => {
    const { env, bin, asked } = engines({
      docker: '[ "$1" != image ] || exit 1; echo one; printf "two\\r\\nthree\\n" >&2',
    });
    const lines: string[] = [];
    await pullImage(container(bin, env), image, { onLine: (line) => lines.push(line) });
    expect(asked()).toEqual([`image inspect ${image}`, `pull ${image}`]);
    expect(lines.sort()).toEqual(['one', 'three', 'two']);
  });

  it('reports content that does not match', async () => {
    const failed = 'unexpected commit digest sha256:1, expected sha256:2: failed precondition';
    const { env, bin } = engines({ docker: `[ "$1" != image ] || exit 1; echo "${failed}" >&2; exit 1` });
    await expect(pullImage(container(bin, env), image)).rejects.toMatchObject({ code: 'digest-mismatch' });
  });
});
