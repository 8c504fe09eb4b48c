/**
 * Verifies the signed files of a catalog, and prints the checks.
 *
 * The keys are those of the command or of the trust file, never those that the registry serves. `trust/` decides about
 * the signature.
 *
 * @module
 */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import type { SnapshotLimits } from '@krmhub/consume/ports';
import { registryUrl } from '@krmhub/consume/references/registry-url';
import { findPin } from '@krmhub/consume/trust/pinned-catalogs';
import {
  rememberSnapshot,
  seenCatalogs,
  seenCatalogsFile,
  seenKey,
} from '@krmhub/consume/trust/seen-catalogs';
import { type PublicKey, readPublicKey } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { type Io, paint } from '../../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../../io/print.js';
import { connect } from '../../registry/connection.js';
import { type CatalogAddress, catalogAddress } from './address.js';
import { BUNDLE, folderFiles, registryFiles, SIGNED_FILES, type SnapshotFiles } from './snapshot-files.js';
import { type CatalogVerdict, verifyCatalog } from './verify-catalog.js';

export interface VerifyOptions {
  key?: string[];
  snapshot?: number;
  registry?: string;
  out?: string;
  files?: string;
  output: OutputFormat;
}

export async function runVerification(io: Io, target: string, options: VerifyOptions): Promise<void> {
  const { out, output } = options;
  if (out !== undefined && options.files !== undefined) {
    throw new KrmhubError('usage', '--out cannot be combined with --files', {
      hint: 'Use one of them.',
    });
  }
  const address = catalogAddress(target, registryUrl(io, options.registry), options.snapshot);
  const { keys, name: catalog = address.name, limits: pinned } = await findKeys(io, address, options);
  const verdict = await verifyCatalog({
    expected: { ...address, name: catalog },
    keys,
    limits: io.snapshotLimits,
    pinned,
    files: await snapshotFiles(io, address, options),
    now: io.now(),
    seen: await seenCatalogs(io),
    seenFile: seenCatalogsFile(io),
  });
  const { checks, trusted, refusal } = verdict;
  const written: string[] = [];
  if (trusted !== undefined) {
    await rememberSnapshot(io, seenKey(trusted.key, catalog), trusted);
    if (out !== undefined) written.push(...(await writeFiles(path.resolve(io.cwd, out), trusted)));
  }
  const { url } = address;
  const { serial, digest, expires, key } = trusted ?? {};
  const data = {
    catalog,
    url,
    verified: trusted !== undefined,
    ...defined({
      serial: trusted === undefined ? undefined : serial,
      digest: trusted === undefined ? undefined : digest,
      expires: trusted === undefined ? undefined : expires,
      key: trusted === undefined ? undefined : key,
    }),
    checks,
    ...defined({ files: written.length === 0 ? undefined : written }),
  };
  await printData(io, output, data, () => printChecks(io, verdict));
  if (refusal !== undefined) {
    throw new KrmhubError('untrusted', `${url} is not trusted: ${refusal.message}`, { hint: refusal.hint });
  }
  await printLine(
    io,
    escapeControls(`verified snapshot ${serial} of ${url} as catalog ${catalog}: signed by the key ${key}`),
  );
  if (out !== undefined)
    await printLine(io, escapeControls(`wrote ${[BUNDLE, ...SIGNED_FILES].join(', ')} to ${out}`));
}

async function snapshotFiles(
  io: Io,
  address: CatalogAddress,
  { files }: VerifyOptions,
): Promise<SnapshotFiles> {
  if (files !== undefined) return folderFiles(path.resolve(io.cwd, files));
  return registryFiles(await connect(io, address.registry), address);
}

/** Returns the keys of --key, else the pin of the catalog. Never uses the keys that the registry serves. */
async function findKeys(
  io: Io,
  { url }: CatalogAddress,
  { key = [] }: VerifyOptions,
): Promise<{ keys: PublicKey[]; name?: string; limits?: SnapshotLimits }> {
  if (key.length > 0) return { keys: await Promise.all(key.map((file) => readKey(io, file))) };
  const pin = await findPin(io, url);
  if (pin !== undefined) return pin;
  throw new KrmhubError('usage', `cannot verify ${url}: --key is missing, and no key is pinned`, {
    hint: `Use --key FILE.pub, or pin the key: krmhub trust add ${url} --key FILE.pub`,
  });
}

async function readKey(io: Io, file: string): Promise<PublicKey> {
  let text: string;
  try {
    text = await readFile(path.resolve(io.cwd, file), 'utf8');
  } catch (error) {
    throw diskError(error, `cannot read ${file}`);
  }
  return readPublicKey(text, file);
}

/** Writes each file atomically. Verification refuses a mix of two snapshots. */
async function writeFiles(
  folder: string,
  { bundle, files }: NonNullable<CatalogVerdict['trusted']>,
): Promise<string[]> {
  const { writeFileAtomically } = await import('@krmhub/consume/files/write-file');
  const written: string[] = [];
  for (const [name, bytes] of [
    ...SIGNED_FILES.map((one) => [one, files[one]] as const),
    [BUNDLE, bundle] as const,
  ]) {
    const file = path.join(folder, name);
    await writeFileAtomically(file, bytes, { overwrite: true });
    written.push(file);
  }
  return written;
}

async function printChecks(io: Io, { checks }: CatalogVerdict): Promise<void> {
  const result = (passed: boolean) => (passed ? 'passed' : paint(io, io.stdout, ['bold', 'red'], 'FAILED'));
  await printTable(io, [{ header: 'CHECK' }, { header: 'RESULT' }, { header: 'DETAILS', min: 30 }], checks, {
    terminal: ({ check, passed, message }) => [check, result(passed), message],
    pipe: ({ check, passed, message }) => [check, passed ? 'passed' : 'failed', message],
  });
}
