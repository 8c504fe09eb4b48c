import path from 'node:path';
import type { Document, RegistryClient } from '@krmhub/api/client';
import type { ProfileReport } from '@krmhub/schema';
import { KrmhubError } from '@krmhub/schema/error';
import type { Profile } from '@krmhub/schema/profile';
import { type Io, write } from '../io/io.js';
import { printLine } from '../io/print.js';
import { plural, visible } from '../io/text.js';
import { withCatalogHint } from '../registry/catalog-name.js';
import { connect } from '../registry/connection.js';

// As the schema package has them, which loads too much for a help text.
export const KINDS = ['Catalog', 'KRMFunctionCatalog'] as const;

export const FORMATS = ['yaml', 'json'] as const;

export interface PullOptions {
  snapshot?: string;
  kind: (typeof KINDS)[number];
  format: (typeof FORMATS)[number];
  profile?: Profile;
  losses?: string;
  out: string;
  registry?: string;
}

export async function pullCatalog(io: Io, name: string, options: PullOptions): Promise<void> {
  const { snapshot, kind, format, out, profile, losses } = options;
  if (losses !== undefined && profile === undefined) {
    throw new KrmhubError('usage', '--losses is of a profile, and goes with --profile');
  }
  const client = await connect(io, options.registry);
  if (profile !== undefined) return pullProfile(io, client, name, { ...options, profile });
  const document = await withCatalogHint(
    client.catalogDocument(name, { kind, format, ...(snapshot === undefined ? {} : { snapshot }) }),
  );
  // A digest names the catalog.yaml of the kind Catalog; other forms of it have their own.
  const pinned = snapshot?.startsWith('sha256:') && kind === 'Catalog' && format === 'yaml';
  const problem = await digestProblem(document, pinned ? snapshot : document.digest);
  if (problem !== undefined) {
    throw new KrmhubError('digest-mismatch', `${problem}; nothing was written`, { hint: HINT });
  }
  await writeDocument(io, document, out);
}

/** Document and report are asked for by one serial, so that a cut in between parts them not. */
async function pullProfile(
  io: Io,
  client: RegistryClient,
  name: string,
  { snapshot, profile, losses, out }: PullOptions & { profile: Profile },
): Promise<void> {
  const serial = snapshot ?? (await newestSerial(client, name));
  const document = await withCatalogHint(client.catalogDocument(name, { snapshot: serial, profile }));
  const report = await client.profileReport(name, serial, profile);
  const problem =
    (await digestProblem(document, document.digest)) ??
    (await digestProblem(document, report.digest)) ??
    snapshotProblem(report, serial);
  if (problem !== undefined) {
    throw new KrmhubError('digest-mismatch', `${problem}; nothing was written`, { hint: HINT });
  }
  const { printUnsupportedFields: printLosses, reportText } = await import('../io/unsupported-fields.js');
  if (losses !== undefined) {
    const { writeFileAtomically } = await import('../files/write-file.js');
    await writeFileAtomically(path.resolve(io.cwd, losses), reportText(report), { overwrite: true });
  }
  await writeDocument(io, document, out);
  await printLosses(io, report, losses === undefined ? '--losses FILE has all of them' : `${losses} has all`);
}

async function newestSerial(client: RegistryClient, name: string): Promise<string> {
  const { newest } = await withCatalogHint(client.catalog(name));
  if (newest !== undefined) return String(newest.serial);
  throw new KrmhubError('unavailable', `the catalog ${name} has not been cut yet`, {
    hint: 'Try again in a moment.',
  });
}

function snapshotProblem({ snapshot }: ProfileReport, asked: string): string | undefined {
  return !asked.startsWith('sha256:') || snapshot === asked
    ? undefined
    : `the profile is of the snapshot ${snapshot ?? 'that it does not name'}, and ${asked} was asked for`;
}

async function writeDocument(io: Io, document: Document, out: string): Promise<void> {
  if (out === '-') {
    await printDocument(io, document.bytes);
    return;
  }
  const { writeFileAtomically } = await import('../files/write-file.js');
  const outcome = await writeFileAtomically(path.resolve(io.cwd, out), document.bytes, { overwrite: true });
  const what = outcome === 'written' ? 'Wrote' : 'Unchanged:';
  await printLine(io, `${what} ${out}, ${plural(document.bytes.length, 'byte')}, ${document.digest}`);
}

const HINT = 'Try again; if it stays so, something between you and the registry changes its answers.';

/** Why the bytes are not what they have to be. Without a digest to hold them to, they are not. */
async function digestProblem(document: Document, digest: string | undefined): Promise<string | undefined> {
  if (digest === undefined) return 'the registry does not tell the digest of the catalog';
  const { sha256 } = await import('@krmhub/schema/digest');
  const actual = sha256(document.bytes);
  return actual === digest ? undefined : `the catalog has to have the digest ${digest}, and has ${actual}`;
}

async function printDocument(io: Io, bytes: Uint8Array): Promise<void> {
  if (io.stdout.isTTY !== true) return write(io.stdout, bytes);
  const lines = new TextDecoder().decode(bytes).split('\n');
  await write(io.stdout, lines.map(visible).join('\n'));
}
