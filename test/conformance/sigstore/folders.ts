import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawn } from '../../processes.js';
import { cleanEnvironment } from '../../running.js';

/**
 * Runs folders in the layout of sigstore's conformance suite through the client, as the suite itself does.
 */

const client = fileURLToPath(new URL('client', import.meta.url));
const defaultIdentity =
  'https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main';
const defaultIssuer = 'https://token.actions.githubusercontent.com';

/** Folders with a bundle; a case that must be refused has a name with this suffix. */
export function casesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => existsSync(path.join(folder, name, 'bundle.sigstore.json')))
    .sort();
}

export const mustBeRefused = (name: string): boolean => name.endsWith('_fail');

export interface ClientResult {
  code: number | null;
  output: string;
}

export async function runClient(args: readonly string[]): Promise<ClientResult> {
  const child = spawn(client, args, {
    env: cleanEnvironment('/nonexistent'),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, output };
}

/** `digest` passes the digest of the artifact to the client instead of its file. */
export function verifyCase(folder: string, name: string, digest?: string): Promise<ClientResult> {
  const at = (file: string) => path.join(folder, name, file);
  const text = (file: string, otherwise: string) =>
    existsSync(at(file)) ? readFileSync(at(file), 'utf8').trim() : otherwise;
  const hasKey = existsSync(at('key.pub'));
  const byIdentity = !hasKey || existsSync(at('identity'));
  const artifact = existsSync(at('artifact')) ? at('artifact') : path.join(folder, '../a.txt');
  return runClient([
    'verify-bundle',
    '--bundle',
    at('bundle.sigstore.json'),
    ...(hasKey ? ['--key', at('key.pub')] : []),
    ...(byIdentity
      ? [
          '--certificate-identity',
          text('identity', defaultIdentity),
          '--certificate-oidc-issuer',
          text('issuer', defaultIssuer),
        ]
      : []),
    ...(existsSync(at('trusted_root.json')) ? ['--trusted-root', at('trusted_root.json')] : []),
    digest ?? artifact,
  ]);
}
