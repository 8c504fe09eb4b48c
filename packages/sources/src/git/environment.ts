import { isIP } from 'node:net';
import { defined } from '@krmhub/schema/defined';
import { unbracketed } from '../address-guard.js';
import type { SourceCredentials } from '../context.js';
import { authorization } from '../http/get-file.js';
import type { SourceLimits } from '../limits.js';

/** A transport of git. `file` is for repositories on this disk. */
export type GitProtocol = 'https' | 'http' | 'ssh' | 'file';

export interface Remote {
  /** The URL for git. */
  url: URL;
  protocol: GitProtocol;
  /** 0 for a repository on this disk. */
  port: number;
  /** The only address that git may connect to; absent if nothing is fetched. */
  address?: string;
  /** URL of a proxy, which connects to the host instead. */
  proxy?: string;
  credentials?: SourceCredentials | undefined;
}

const PROGRAM_FOLDERS = '/usr/local/bin:/usr/bin:/bin';

/** Variables of git that are about the user, and not about a repository or a run of git. */
const USER_VARIABLE =
  /^(?:GIT_CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)|GIT_SSL_[A-Z_]+|GIT_HTTP_PROXY_AUTHMETHOD|HOME|XDG_CONFIG_HOME)$/;

export interface GitSettings {
  folder: string;
  userAgent: string;
  limits: SourceLimits;
  remote: Remote;
  programFolders?: string | undefined;
  sshAgentSocket?: string | undefined;
  /** The environment of the user whose configuration git uses. Absent for a closed environment. */
  user?: Readonly<Record<string, string>> | undefined;
  /** Transports to which the configuration of the user may change a URL. */
  protocols?: readonly GitProtocol[];
  /** A file of certificate authorities, where git would not find it. */
  authorities?: string | undefined;
}

/**
 * Returns the complete environment of git and its child processes. It does not inherit the environment of krmhub, so
 * that no hook of the user takes effect, and without `user` no configuration and no credential helper. Of the user it
 * takes where the configuration is, and the trusted certificate authorities.
 */
export function gitEnvironment(options: GitSettings): Record<string, string> {
  const { folder, limits, remote, programFolders = PROGRAM_FOLDERS, sshAgentSocket, user } = options;
  const protocols =
    user === undefined || remote.protocol === 'file' ? [remote.protocol] : (options.protocols ?? []);
  return {
    PATH: programFolders,
    TMPDIR: folder,
    LC_ALL: 'C',
    GIT_DIR: folder,
    ...(user === undefined
      ? { HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }
      : userVariables(user)),
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    SSH_ASKPASS: 'false',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_ALLOW_PROTOCOL: protocols.join(':'),
    GIT_PROTOCOL_FROM_USER: '0',
    ...sshEnvironment(protocols, remote, limits, sshAgentSocket),
    ...configEnvironment([
      ...userEntries(user),
      ['protocol.allow', 'never'],
      ...protocols.map((name): [string, string] => [`protocol.${name}.allow`, 'always']),
      ...(options.authorities === undefined
        ? []
        : [['http.sslCAInfo', options.authorities] satisfies [string, string]]),
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

/**
 * Returns the environment in which git asks the credential helpers of the user, and no one at the keyboard. Helpers get
 * the environment of the user.
 */
export function helperEnvironment({ folder, user = {}, limits }: GitSettings): Record<string, string> {
  const own = Object.entries(user).filter(([name]) => !name.startsWith('GIT_') || USER_VARIABLE.test(name));
  return {
    ...Object.fromEntries(own),
    LC_ALL: 'C',
    GIT_DIR: folder,
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: user.GIT_ASKPASS ?? 'false',
    SSH_ASKPASS: 'false',
    ...configEnvironment([
      ...userEntries(user),
      ['core.hooksPath', '/dev/null'],
      ['http.lowSpeedTime', String(Math.max(Math.ceil(limits.idleMilliseconds / 1_000), 1))],
    ]),
  };
}

function userVariables(user: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(user).filter(([name]) => USER_VARIABLE.test(name)));
}

/** The configuration that a user passes in the environment. */
function userEntries(user: Readonly<Record<string, string>> = {}): [string, string][] {
  const count = /^\d{1,4}$/.test(user.GIT_CONFIG_COUNT ?? '') ? Number(user.GIT_CONFIG_COUNT) : 0;
  return Array.from({ length: count }, (_, at): [string, string] => [
    user[`GIT_CONFIG_KEY_${at}`] ?? '',
    user[`GIT_CONFIG_VALUE_${at}`] ?? '',
  ]).filter(([name]) => name !== '');
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
function pinAddress({ url, port, protocol, address }: Remote): [string, string][] {
  if (protocol === 'file') return [];
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
  if (credentials === undefined || !protocol.startsWith('http')) return [];
  return [[`http.${url.origin}/.extraHeader`, `Authorization: ${authorization(credentials)}`]];
}

/** ssh uses the keys and known hosts of the user, but no other configuration. */
function sshEnvironment(
  protocols: readonly string[],
  { url, protocol, port, address }: Remote,
  limits: SourceLimits,
  agentSocket: string | undefined,
): Record<string, string> {
  if (!protocols.includes('ssh')) return {};
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
    // The name in known_hosts; the address is only for the connection. Of a URL that git changes, neither is known.
    ...defined({
      HostKeyAlias: protocol === 'ssh' ? (port === 22 ? host : `[${host}]:${port}`) : undefined,
      HostName: protocol === 'ssh' ? (address ?? host) : undefined,
    }),
  };
  const options = Object.entries(settings).map(([name, value]) => `-o '${name}=${value}'`);
  return {
    GIT_SSH_VARIANT: 'ssh',
    GIT_SSH_COMMAND: `ssh -F /dev/null ${options.join(' ')}`,
    ...defined({ SSH_AUTH_SOCK: agentSocket }),
  };
}
