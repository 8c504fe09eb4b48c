import { KrmhubError, readPublicKey } from '@krmhub/schema';
import type { Digest } from '@krmhub/schema/digest';
import { escapeControls, plural } from '@krmhub/schema/text';
import { confirm } from '../../io/confirm.js';
import type { Io } from '../../io/io.js';
import { printLine, printWarning } from '../../io/print.js';
import { connectAnonymously } from '../../registry/connection.js';
import { isLoopback } from '../../registry/plain-http.js';

/** How the user confirms a fetched key. Without any, there is a question at a terminal. */
export interface KeyConfirmation {
  /** Fingerprints from the operator: only these keys. */
  fingerprint?: string[];
  /** Accept what the registry serves. */
  yes?: boolean;
}

interface FetchedKey {
  pem: string;
  fingerprint: Digest;
  validFrom: string;
}

const TIMEOUT_MILLISECONDS = 30_000;
/** Of a registry that rotates its key: this one and the next ones. */
const MAX_KEYS = 8;

/**
 * Fetches the keys of the registry of a catalog: the current one and the next ones. Returns them in PEM when the user has
 * confirmed their fingerprints, never before. Throws `usage` for URLs from which a key must not be fetched, and if
 * nothing confirms the keys, and `untrusted` for keys other than the expected ones.
 */
export async function fetchRegistryKeys(io: Io, catalog: string, by: KeyConfirmation): Promise<string[]> {
  const registry = registryOf(catalog);
  const client = await connectAnonymously(io, registry, TIMEOUT_MILLISECONDS);
  const { keys } = await client.registryKeys();
  const usable = usableKeys(io, registry, keys);
  for (const { fingerprint, validFrom } of usable) {
    const from = Date.parse(validFrom) > io.now().getTime() ? ` (from ${validFrom})` : '';
    await printLine(io, escapeControls(`key of ${registry}: ${fingerprint}${from}`));
  }
  const chosen = by.fingerprint === undefined ? usable : expectedKeys(registry, usable, by.fingerprint);
  if (by.fingerprint === undefined) await requireConfirmed(io, catalog, usable, by.yes === true);
  return chosen.map(({ pem }) => pem);
}

/** Who can change the response can choose the key, so the connection needs TLS. */
function registryOf(catalog: string): string {
  const [, registry] = /^(https?:\/\/.+?)\/catalogs\/[^/]+$/.exec(catalog) ?? [];
  if (registry === undefined) {
    const example = /^https?:\/\/[^/]+\/?$/.test(catalog)
      ? `${catalog.replace(/\/$/, '')}/catalogs/default`
      : 'https://HOST/catalogs/NAME';
    throw new KrmhubError(
      'usage',
      `cannot pin ${catalog}: it is not the URL of a catalog, and has no --key`,
      {
        hint: `The key can be fetched for a catalog of a registry: krmhub trust add ${example}. For others, use --key FILE.pub.`,
      },
    );
  }
  const { protocol, hostname } = new URL(registry);
  if (protocol === 'https:' || isLoopback(hostname)) return registry;
  throw new KrmhubError('usage', `cannot fetch the key of ${registry}: the connection has no TLS`, {
    hint: 'Use the https URL, or get the key from the operator, and use --key FILE.pub.',
  });
}

/** Returns the keys that sign now or later. The fingerprints are our own: a registry can name any. */
function usableKeys(
  io: Io,
  registry: string,
  keys: readonly { publicKey: string; validFrom: string; validUntil?: string | undefined }[],
): FetchedKey[] {
  const now = io.now().getTime();
  const current = keys.filter(({ validUntil }) => validUntil === undefined || Date.parse(validUntil) > now);
  const refuse = (reason: string) =>
    new KrmhubError('untrusted', `cannot pin the key of ${registry}: ${reason}`, {
      hint: 'Nothing was changed. Ask the operator of the registry.',
    });
  if (current.length === 0) throw refuse('it has no valid key');
  if (current.length > MAX_KEYS) throw refuse(`it has ${current.length} valid keys`);
  return current.map(({ publicKey, validFrom }) => {
    try {
      const { pem, fingerprint } = readPublicKey(publicKey, 'the key');
      return { pem, fingerprint, validFrom };
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      throw refuse(escapeControls(error.message));
    }
  });
}

function expectedKeys(
  registry: string,
  keys: readonly FetchedKey[],
  expected: readonly string[],
): FetchedKey[] {
  const wanted = expected.map((text) => (text.includes(':') ? text : `sha256:${text}`).toLowerCase());
  const missing = wanted.find((one) => !keys.some(({ fingerprint }) => fingerprint === one));
  if (missing === undefined) return keys.filter(({ fingerprint }) => wanted.includes(fingerprint));
  throw new KrmhubError(
    'untrusted',
    escapeControls(`${registry} has no key with the fingerprint ${missing}`),
    { hint: 'Nothing was changed. Do not trust the registry until its operator explains the difference.' },
  );
}

async function requireConfirmed(
  io: Io,
  catalog: string,
  keys: readonly FetchedKey[],
  isAccepted: boolean,
): Promise<void> {
  if (isAccepted) {
    await printWarning(io, 'the fingerprint was not compared with one from the operator (--yes)');
    return;
  }
  const options = keys.map(({ fingerprint }) => `--fingerprint ${fingerprint}`).join(' ');
  if (io.stdin.isTTY !== true) {
    throw new KrmhubError('usage', `cannot pin ${catalog}: there is no terminal to ask for confirmation`, {
      hint: `Nothing was changed. Compare the fingerprint with the one from the operator, then add: ${options}`,
    });
  }
  await printLine(io, 'Compare it with the fingerprint that the operator gave you, not over this registry.');
  if (await confirm(io, `Pin ${plural(keys.length, 'key')} for ${catalog}?`)) return;
  throw new KrmhubError('usage', `did not pin ${catalog}: not confirmed`, {
    hint: 'Nothing was changed. Ask the operator for the fingerprint.',
  });
}
