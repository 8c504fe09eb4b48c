import { expect, it } from 'vitest';
import { SOURCE_LIMITS } from '../limits.js';
import { gitEnvironment, type Remote } from './environment.js';

function createEnvironment(remote: Remote, more: { sshAgentSocket?: string } = {}) {
  return gitEnvironment({
    folder: '/tmp/x',
    userAgent: 'krmhub/test',
    limits: SOURCE_LIMITS,
    remote,
    ...more,
  });
}

/** What git reads as its configuration. */
function readConfiguration(environment: Record<string, string>): [string, string][] {
  return Array.from({ length: Number(environment.GIT_CONFIG_COUNT) }, (_, at) => [
    environment[`GIT_CONFIG_KEY_${at}`]!,
    environment[`GIT_CONFIG_VALUE_${at}`]!,
  ]);
}

it('pins the name and sends credentials to one origin', () => {
  const environment = createEnvironment({
    url: new URL('https://vendor.example:8443/x.git'),
    protocol: 'https',
    port: 8443,
    address: '2606:4700::1',
    credentials: { token: 'abc' },
  });
  expect(readConfiguration(environment)).toEqual(
    expect.arrayContaining([
      ['http.curloptResolve', 'vendor.example:8443:[2606:4700::1]'],
      ['http.https://vendor.example:8443/.extraHeader', 'Authorization: Bearer abc'],
      ['protocol.allow', 'never'],
      ['protocol.https.allow', 'always'],
      ['http.followRedirects', 'false'],
    ]),
  );
  expect(environment).toMatchObject({
    GIT_ALLOW_PROTOCOL: 'https',
    HOME: '/tmp/x',
    GIT_CONFIG_GLOBAL: '/dev/null',
  });
  expect(Object.keys(environment)).not.toContain('GIT_SSH_COMMAND');
});

it('pins the address of ssh, and checks the host key by name', () => {
  const remote = { protocol: 'ssh', address: '192.0.2.1' } as const;
  const usual = createEnvironment({ ...remote, url: new URL('ssh://git@vendor.example/x.git'), port: 22 });
  expect(usual.GIT_SSH_COMMAND).toMatch(/^ssh -F \/dev\/null /);
  for (const option of [
    'HostName=192.0.2.1',
    'HostKeyAlias=vendor.example',
    'StrictHostKeyChecking=yes',
    'BatchMode=yes',
    'ProxyCommand=none',
  ]) {
    expect(usual.GIT_SSH_COMMAND).toContain(`-o '${option}'`);
  }
  expect(usual).not.toHaveProperty('SSH_AUTH_SOCK');
  const url = new URL('ssh://git@vendor.example:2222/x.git');
  const other = createEnvironment({ ...remote, url, port: 2222 }, { sshAgentSocket: '/run/agent' });
  expect(other.GIT_SSH_COMMAND).toContain("-o 'HostKeyAlias=[vendor.example]:2222'");
  expect(other.SSH_AUTH_SOCK).toBe('/run/agent');
});
