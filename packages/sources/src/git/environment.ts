import { isIP } from 'node:net';
import { unbracketed } from '../address-guard.js';
import type { SourceCredentials } from '../context.js';
import { authorization } from '../http/get-file.js';
import type { SourceLimits } from '../limits.js';

export interface Remote {
  /** The URL for git. */
  url: URL;
  protocol: 'https' | 'http' | 'ssh';
  port: number;
  /** The only address that git may connect to; absent if nothing is fetched. */
  address?: string;
  /** URL of a proxy, which connects to the host instead. */
  proxy?: string;
  credentials?: SourceCredentials | undefined;
}

const PROGRAM_FOLDERS = '/usr/local/bin:/usr/bin:/bin';

/**
 * Returns the complete environment of git and its child processes. It does not inherit the environment of krmhub, so
 * that no configuration, credential helper or hook of the user takes effect.
 */
export function gitEnvironment(options: {
  folder: string;
  userAgent: string;
  limits: SourceLimits;
  remote: Remote;
  programFolders?: string | undefined;
  sshAgentSocket?: string | undefined;
}): Record<string, string> {
  const { folder, limits, remote, programFolders = PROGRAM_FOLDERS, sshAgentSocket } = options;
  const { protocol } = remote;
  return {
    PATH: programFolders,
    HOME: folder,
    TMPDIR: folder,
    LC_ALL: 'C',
    GIT_DIR: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_ALLOW_PROTOCOL: protocol,
    GIT_PROTOCOL_FROM_USER: '0',
    ...(protocol === 'ssh' ? sshEnvironment(remote, limits, sshAgentSocket) : {}),
    ...configEnvironment([
      ['protocol.allow', 'never'],
      [`protocol.${protocol}.allow`, 'always'],
      // Servers must not redirect git to other servers or run programs.
      ['http.followRedirects', 'false'],
      ['transfer.bundleURI', 'false'],
      ['fetch.recurseSubmodules', 'false'],
      ['credential.helper', ''],
      ['core.hooksPath', '/dev/null'],
      ['core.fsmonitor', 'false'],
      // No background processes.
      ['gc.auto', '0'],
      ['maintenance.auto', 'false'],
      ['fetch.writeCommitGraph', 'false'],
      // One pack file instead of loose objects, one thread, and no large file in memory.
      ['fetch.unpackLimit', '1'],
      ['pack.threads', '1'],
      ['core.bigFileThreshold', '4m'],
      ['core.packedGitWindowSize', '16m'],
      ['core.packedGitLimit', '64m'],
      ['http.userAgent', options.userAgent],
      ['http.lowSpeedLimit', '1'],
      ['http.lowSpeedTime', String(Math.max(Math.ceil(limits.idleMilliseconds / 1_000), 1))],
      ...pinAddress(remote),
      ...proxySettings(remote),
      ...authorizationHeader(remote),
    ]),
  };
}

/** Passes the configuration in the environment, because other users can read the arguments of a process. */
function configEnvironment(entries: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(entries.length)],
    ...entries.flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ]);
}

/** Pins the checked address, so that git does not resolve the name again (DNS rebinding). */
function pinAddress({ url, port, address }: Remote): [string, string][] {
  const host = unbracketed(url.hostname);
  if (address === undefined || isIP(host) !== 0) return [];
  return [['http.curloptResolve', `${host}:${port}:${isIP(address) === 6 ? `[${address}]` : address}`]];
}

/** Sends the password without being asked for it, as the proxies of other requests get it. */
function proxySettings({ proxy }: Remote): [string, string][] {
  if (proxy === undefined) return [];
  return [
    ['http.proxy', proxy],
    ['http.proxyAuthMethod', 'basic'],
  ];
}

function authorizationHeader({ url, protocol, credentials }: Remote): [string, string][] {
  if (credentials === undefined || protocol === 'ssh') return [];
  return [[`http.${url.origin}/.extraHeader`, `Authorization: ${authorization(credentials)}`]];
}

/** ssh uses the keys and known hosts of the user, but no other configuration. */
function sshEnvironment(
  { url, port, address }: Remote,
  limits: SourceLimits,
  agentSocket: string | undefined,
): Record<string, string> {
  const host = unbracketed(url.hostname);
  const settings = {
    BatchMode: 'yes',
    StrictHostKeyChecking: 'yes',
    UpdateHostKeys: 'no',
    ProxyCommand: 'none',
    PermitLocalCommand: 'no',
    ClearAllForwardings: 'yes',
    ForwardAgent: 'no',
    ConnectTimeout: Math.max(Math.ceil(limits.connectMilliseconds / 1_000), 1),
    ServerAliveInterval: Math.max(Math.ceil(limits.idleMilliseconds / 2_000), 1),
    ServerAliveCountMax: 2,
    // The name in known_hosts; the address is only for the connection.
    HostKeyAlias: port === 22 ? host : `[${host}]:${port}`,
    HostName: address ?? host,
  };
  const options = Object.entries(settings).map(([name, value]) => `-o '${name}=${value}'`);
  return {
    GIT_SSH_VARIANT: 'ssh',
    GIT_SSH_COMMAND: `ssh -F /dev/null ${options.join(' ')}`,
    ...(agentSocket === undefined ? {} : { SSH_AUTH_SOCK: agentSocket }),
  };
}
