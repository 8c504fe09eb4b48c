import { expect, it } from 'vitest';
import { engineFailure } from './engine-failure.js';

it.each([
  ['Error: crun: setrlimit `RLIMIT_NPROC`: Operation not permitted: OCI permission denied', 'ulimit -Ha'],
  [
    'docker: Error response from daemon: OCI runtime create failed: runc create failed: error setting rlimits for ready process: operation not permitted',
    'ulimit -Ha',
  ],
  [
    'Error: setting rlimit type 7: requested 1048576 exceeds the hard limit of 524288: operation not permitted',
    'ulimit -Ha',
  ],
  ['Error: crun: executable file `fn` not found in $PATH: No such file or directory', 'podman info'],
  ['Error: statfs /nope: no such file or directory', 'each source must exist'],
  [
    'docker: Error response from daemon: invalid mount config for type "bind": bind source path does not exist: /nope.',
    'each source must exist',
  ],
  ['Error: example.com/fn:1: image not known', 'podman pull'],
  ['docker: Error response from daemon: No such image: example.com/fn:1', '--image-pull-policy IfNotPresent'],
  ['Error: initializing source docker://example.com/fn: pinging container registry example.com', 'registry'],
])('hints at the registry only if the registry failed: %s', (stderr, hint) => {
  const engine = { engine: 'podman' } as Parameters<typeof engineFailure>[0];
  const error = engineFailure(engine, 'cannot run fn', {
    end: { type: 'exited', exitCode: 125 },
    output: new Uint8Array(),
    stderr: Buffer.from(`${stderr}\n`),
    stderrTruncated: false,
  });
  expect(error?.hint).toContain(hint);
  expect(error?.hint?.includes('registry of the image')).toBe(hint === 'registry');
});
