import path from 'node:path';
import type { Document, RegistryClient } from '@krmhub/api/client';
import {
  openPinnedCatalog,
  type PinnedCatalogReader,
  reportUnverified,
} from '@krmhub/consume/trust/registry-snapshot';
import type { ProfileReport } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { Profile } from '@krmhub/schema/profile';
import { plural } from '@krmhub/schema/text';
import { checkOutput } from '../io/check-output.js';
import { type Io, writeData } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { connect } from '../registry/connection.js';
import { consumePorts } from '../registry/consume-ports.js';

// As the schema package has them, which loads too much for a help text.
export const KINDS = ['Catalog', 'KRMFunctionCatalog'] as const;

export const FORMATS = ['yaml', 'json'] as const;

export interface PullOptions {
  snapshot?: string;
  kind: (typeof KINDS)[number];
  /** Default: yaml. */
  format?: (typeof FORMATS)[number];
  profile?: Profile;
  losses?: string;
  out: string;
  registry?: string;
  output: OutputFormat;
}

export async function pullCatalog(io: Io, name: string, given: PullOptions): Promise<void> {
  const options = withoutReport(given);
  const { snapshot, kind, format = 'yaml', profile, losses } = options;
  checkOutput('catalog.yaml', options);
  if (losses !== undefined && profile === undefined) {
    throw new KrmhubError('usage', '--losses requires --profile', {
      hint: 'Add a profile, for example: --profile porch',
    });
  }
  const client = await connect(io, options.registry);
  const pinned = await openPinnedCatalog(consumePorts(io), client, name, options);
  if (profile !== undefined) return pullProfile(io, client, name, { ...options, profile }, pinned);
  const get = async (at?: string) =>
    client.catalogDocument(name, { kind, format, ...defined({ snapshot: at }) });
  if (pinned !== undefined) {
    let document: Document | undefined;
    await pinned.read(async (serial) => {
      document = await get(serial);
      return { [`${kind.toLowerCase()}.${format}`]: document.bytes };
    });
    return writeDocument(io, name, document!, options);
  }
  const document = await get(snapshot);
  // A snapshot digest is that of catalog.yaml of the kind Catalog; other renditions have their own.
  const named = snapshot?.startsWith('sha256:') && kind === 'Catalog' && format === 'yaml';
  const problem = await digestProblem(document, named ? snapshot : document.digest);
  if (problem !== undefined) {
    throw new KrmhubError('digest-mismatch', `cannot pull catalog ${name}: ${problem}`, { hint: HINT });
  }
  await reportUnverified(consumePorts(io), client, name);
  await writeDocument(io, name, document, options);
}

/** On stdout, the catalog itself is the output, so `-o` is its format. */
function withoutReport(options: PullOptions): PullOptions {
  const { out, output, profile, format } = options;
  if (out !== '-' || output === 'table' || profile !== undefined) return options;
  return format === undefined || format === output
    ? { ...options, format: output, output: 'table' }
    : options;
}

/** Pulls a profile. Requests document and report by the same serial, so that both are of one snapshot. */
async function pullProfile(
  io: Io,
  client: RegistryClient,
  name: string,
  { snapshot, profile, losses, ...options }: PullOptions & { profile: Profile },
  pinned: PinnedCatalogReader | undefined,
): Promise<void> {
  const get = async (serial: string) => ({
    document: await client.catalogDocument(name, { snapshot: serial, profile }),
    report: await client.profileReport(name, serial, profile),
  });
  let got: Awaited<ReturnType<typeof get>>;
  if (pinned === undefined) {
    const serial = snapshot ?? (await newestSerial(client, name));
    got = await get(serial);
    const problem =
      (await digestProblem(got.document, got.document.digest)) ??
      (await digestProblem(got.document, got.report.digest)) ??
      snapshotProblem(got.report, serial);
    if (problem !== undefined) {
      throw new KrmhubError('digest-mismatch', `cannot pull catalog ${name}: ${problem}`, { hint: HINT });
    }
    await reportUnverified(consumePorts(io), client, name);
  } else got = await readPinnedProfile(client, name, profile, pinned);
  const { document, report } = got;
  const { printUnsupportedFields, reportText } = await import('../io/unsupported-fields.js');
  if (losses !== undefined) {
    const { writeFileAtomically } = await import('@krmhub/consume/files/write-file');
    await writeFileAtomically(path.resolve(io.cwd, losses), reportText(report), { overwrite: true });
  }
  await printUnsupportedFields(
    io,
    report,
    losses === undefined ? 'list them with --losses FILE' : `see ${losses}`,
  );
  await writeDocument(io, name, document, options);
}

/** Reads a profile and its report, whose exact bytes the registry signed. */
async function readPinnedProfile(
  client: RegistryClient,
  name: string,
  profile: Profile,
  pinned: PinnedCatalogReader,
): Promise<{ document: Document; report: ProfileReport }> {
  const { profileSubjects } = await import('@krmhub/signing/statement');
  const subjects = profileSubjects(profile);
  let document: Document | undefined;
  let report: Document | undefined;
  await pinned.read(async (serial) => {
    document = await client.catalogDocument(name, { snapshot: serial, profile });
    report = await client.profileReportDocument(name, serial, profile);
    return { [subjects.document]: document.bytes, [subjects.report]: report.bytes };
  });
  return {
    document: document!,
    report: JSON.parse(new TextDecoder().decode(report!.bytes)) as ProfileReport,
  };
}

async function newestSerial(client: RegistryClient, name: string): Promise<string> {
  const { newest } = await client.catalog(name);
  if (newest !== undefined) return String(newest.serial);
  throw new KrmhubError('unavailable', `catalog ${name} has no snapshot yet`, {
    hint: `Try again in a moment: krmhub catalog show ${name}`,
  });
}

function snapshotProblem({ snapshot }: ProfileReport, asked: string): string | undefined {
  return !asked.startsWith('sha256:') || snapshot === asked
    ? undefined
    : `the profile is from snapshot ${snapshot ?? '(unknown)'}, expected ${asked}`;
}

async function writeDocument(
  io: Io,
  catalog: string,
  document: Document,
  { out, output }: PullOptions,
): Promise<void> {
  if (out === '-') {
    await writeData(io.stdout, document.bytes);
    return;
  }
  const { writeFileAtomically } = await import('@krmhub/consume/files/write-file');
  const outcome = await writeFileAtomically(path.resolve(io.cwd, out), document.bytes, { overwrite: true });
  const what = outcome === 'written' ? 'wrote' : 'unchanged:';
  const { digest, bytes } = document;
  await printLine(io, `${what} ${out}, ${plural(bytes.length, 'byte')}, ${digest}`);
  const pulled = { catalog, file: out, outcome, size: bytes.length, digest };
  await printData(io, output, pulled, async () => undefined);
}

const HINT =
  'Nothing was written. Try again. If it fails again, a proxy may be changing the responses of the registry.';

/** Returns why the bytes fail verification; a missing digest is a failure. */
async function digestProblem(document: Document, digest: string | undefined): Promise<string | undefined> {
  if (digest === undefined) return 'the response has no digest';
  const { sha256 } = await import('@krmhub/schema/digest');
  const actual = sha256(document.bytes);
  return actual === digest ? undefined : `digest mismatch: expected ${digest}, got ${actual}`;
}
