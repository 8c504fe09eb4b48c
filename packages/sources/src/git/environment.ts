import { isIP } from 'node:net';
import { unbracketed } from '../address-guard.js';
import type { SourceCredentials } from '../context.js';
import { authorization } from '../http/get-file.js';
import type { SourceLimits } from '../limits.js';

export interface Remote {
  /** As git is told it. */
  url: URL;
  protocol: 'https' | 'http' | 'ssh';
  port: number;
  /** The only address that git may connect to; absent where nothing is fetched. */
  address?: string;
  credentials?: SourceCredentials | undefined;
}

const PROGRAM_FOLDERS = '/usr/local/bin:/usr/bin:/bin';

/**
 * Everything that git and what it starts see of the machine. Nothing of the environment that we run in is in it: no
 * configuration, credential helper, proxy or hook of whoever runs this takes part.
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
      // What a server may name to be fetched from elsewhere, and programs of the machine.
      ['http.followRedirects', 'false'],
      ['transfer.bundleURI', 'false'],
      ['fetch.recurseSubmodules', 'false'],
      ['credential.helper', ''],
      ['core.hooksPath', '/dev/null'],
      ['core.fsmonitor', 'false'],
      // Nothing goes on when the command has ended.
      ['gc.auto', '0'],
      ['maintenance.auto', 'false'],
      ['fetch.writeCommitGraph', 'false'],
      // One file instead of one for each object, one thread, and no big file whole in memory.
      ['fetch.unpackLimit', '1'],
      ['pack.threads', '1'],
      ['core.bigFileThreshold', '4m'],
      ['core.packedGitWindowSize', '16m'],
      ['core.packedGitLimit', '64m'],
      ['http.userAgent', options.userAgent],
      ['http.lowSpeedLimit', '1'],
      ['http.lowSpeedTime', String(Math.max(Math.ceil(limits.idleMilliseconds / 1_000), 1))],
      ...pinAddress(remote),
      ...authorizationHeader(remote),
    ]),
  };
}

/** In the environment, since the arguments of a program can be read by everybody on the machine. */
function configEnvironment(entries: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(entries.length)],
    ...entries.flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ]);
}

/** The name is not looked up again, so that it cannot mean another address than the one that was judged. */
function pinAddress({ url, port, address }: Remote): [string, string][] {
  const host = unbracketed(url.hostname);
  if (address === undefined || isIP(host) !== 0) return [];
  return [['http.curloptResolve', `${host}:${port}:${isIP(address) === 6 ? `[${address}]` : address}`]];
}

function authorizationHeader({ url, protocol, credentials }: Remote): [string, string][] {
  if (credentials === undefined || protocol === 'ssh') return [];
  return [[`http.${url.origin}/.extraHeader`, `Authorization: ${authorization(credentials)}`]];
}

/** The keys and known hosts of the user that this runs as, and nothing else of that user's configuration. */
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
    // As it stands in the file of known hosts; the address is only where to connect.
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
