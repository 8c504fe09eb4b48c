import {
  type CatalogTrust,
  describeConditions,
  describeTrusted,
  isCatalogTrust,
  isTrustedCatalog,
  type PinnedKey,
  type TrustEntry,
  type TrustedSigner,
  trustEntries,
} from '@krmhub/catalog';
import { readTrustStore } from '@krmhub/consume/trust/trust-file';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../../io/print.js';
import { entryLines, limitLines } from './describe-trust.js';

interface Row {
  name: string;
  scope: string;
  signer: string;
  validity: string;
}

/** Digits of a fingerprint in the table of a terminal; programs get the whole fingerprint. */
const SHORT_FINGERPRINT = 12;

export async function listTrust(io: Io, { output }: { output: OutputFormat }): Promise<void> {
  const { file, trust } = await readTrustStore(io);
  await printData(io, output, { file, ...trust }, async () => {
    const rows = trustEntries(trust).flatMap((entry) => entryRows(entry, io.now()));
    if (rows.length === 0) {
      await printLine(io, escapeControls(`no trusted signers in ${file}; add one with: krmhub trust add`));
      return;
    }
    const columns = [
      { header: 'NAME', min: 10 },
      { header: 'SCOPE', min: 14 },
      { header: 'SIGNER', min: 20 },
      { header: 'VALID UNTIL' },
    ];
    await printTable(io, columns, rows, {
      terminal: ({ name, scope, signer, validity }) => [
        name,
        scope,
        signer.replace(
          /^the key sha256:([a-f0-9]+)$/,
          (_, hex: string) => `key ${hex.slice(0, SHORT_FINGERPRINT)}`,
        ),
        validity.replace(/T00:00:00\.000Z$/, ''),
      ],
      pipe: ({ name, scope, signer, validity }) => [name, scope, signer, validity],
    });
  });
}

function entryRows(entry: TrustEntry, now: Date): Row[] {
  const row = (scope: string) => (signer: TrustedSigner | PinnedKey) => ({
    name: entry.name,
    scope,
    signer: describeTrusted(signer),
    validity: validityText(signer, now),
  });
  if (isCatalogTrust(entry))
    return entryLines(entry).map((scope) => ({
      name: entry.name,
      scope,
      signer: 'any',
      validity: 'no expiry',
    }));
  const scope = scopeText(entry);
  if (isTrustedCatalog(entry)) return entry.keys.map(row(scope));
  const { signers, testers = [] } = entry;
  return [...signers.map(row(scope)), ...testers.map(row(`test reports of ${scope}`))];
}

function scopeText(entry: Exclude<TrustEntry, CatalogTrust>): string {
  if (isTrustedCatalog(entry)) {
    const named = entry.catalog === undefined ? '' : ` as ${entry.catalog}`;
    return [`catalog ${entry.url}${named}`, ...limitLines(entry)].join(', ');
  }
  const { groups, releases } = entry;
  const range = releases === undefined ? [] : [releases];
  return [`functions ${groups.join(', ')}`, ...range, ...describeConditions(entry)].join(', ');
}

function validityText(signer: TrustedSigner | PinnedKey, now: Date): string {
  const { validFrom, validUntil } = signer;
  const at = now.toISOString();
  if ('revoked' in signer && signer.revoked !== undefined) return `revoked: ${signer.revoked}`;
  if (validUntil !== undefined) return at >= validUntil ? `expired ${validUntil}` : validUntil;
  return validFrom !== undefined && at < validFrom ? `from ${validFrom}` : 'no expiry';
}
