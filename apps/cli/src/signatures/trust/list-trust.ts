import { isTrustedCatalog, type PinnedKey, type TrustEntry, type TrustedSigner } from '@krmhub/catalog';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../../io/print.js';
import { visible } from '../../io/text.js';
import { whomOf } from './describe-trust.js';
import { entriesOf } from './edit-trust.js';
import { readTrustStore } from './trust-file.js';

interface Row {
  name: string;
  what: string;
  whom: string;
  until: string;
}

/** Digits of a fingerprint that a terminal shows; programs get all of them. */
const SHORT_FINGERPRINT = 12;

export async function listTrust(io: Io, { output }: { output: OutputFormat }): Promise<void> {
  const { file, trust } = await readTrustStore(io);
  await printData(io, output, { file, ...trust }, async () => {
    const rows = entriesOf(trust).flatMap((entry) => rowsOf(entry, io.now()));
    if (rows.length === 0) {
      await printLine(io, visible(`Nobody is trusted in ${file}; \`krmhub trust add\` changes that.`));
      return;
    }
    const columns = [
      { header: 'NAME', min: 10 },
      { header: 'WHAT', min: 14 },
      { header: 'WHOM', min: 20 },
      { header: 'UNTIL' },
    ];
    await printTable(io, columns, rows, {
      terminal: ({ name, what, whom, until }) => [
        name,
        what,
        whom.replace(
          /^the key sha256:([a-f0-9]+)$/,
          (_, hex: string) => `key ${hex.slice(0, SHORT_FINGERPRINT)}`,
        ),
        until.replace(/T00:00:00\.000Z$/, ''),
      ],
      pipe: ({ name, what, whom, until }) => [name, what, whom, until],
    });
  });
}

function rowsOf(entry: TrustEntry, now: Date): Row[] {
  const signers: readonly (TrustedSigner | PinnedKey)[] = isTrustedCatalog(entry)
    ? entry.keys
    : entry.signers;
  return signers.map((signer) => ({
    name: entry.name,
    what: whatOf(entry),
    whom: whomOf(signer),
    until: endOf(signer, now),
  }));
}

function whatOf(entry: TrustEntry): string {
  if (isTrustedCatalog(entry)) return `catalog ${entry.url}`;
  const { groups, releases } = entry;
  return `functions ${groups.join(', ')}${releases === undefined ? '' : `, ${releases}`}`;
}

function endOf(signer: TrustedSigner | PinnedKey, now: Date): string {
  const { validFrom, validUntil } = signer;
  const at = now.toISOString();
  if ('revoked' in signer && signer.revoked !== undefined) return `revoked: ${signer.revoked}`;
  if (validUntil !== undefined) return at >= validUntil ? `ended ${validUntil}` : validUntil;
  return validFrom !== undefined && at < validFrom ? `from ${validFrom}` : 'without an end';
}
