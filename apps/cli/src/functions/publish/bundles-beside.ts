import { stat } from 'node:fs/promises';
import path from 'node:path';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import { signedRelease } from '@krmhub/signing/release-claim';
import { hasSubject, MANIFEST_SUBJECT, SIGNATURE_PREDICATE, type Statement } from '@krmhub/signing/statement';
import { OCI_SCHEME } from '../../documents/document-files.js';
import type { Submission } from '../../documents/read-definitions.js';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import { STDIN_NAME } from '../../io/read-stdin.js';
import { readBundleFile } from '../../signatures/read-bundle-file.js';
import { submissionStatement } from '../../signatures/statements.js';

/** Bundles to list; more are counted. */
const MAX_LISTED = 5;

/**
 * Adds the bundle that `krmhub sign` wrote next to a definition, FILE.sigstore.json, to its submission. Throws
 * `untrusted` for a bundle that signs something else: the publisher expects a signed release.
 */
export async function withBundlesBeside(
  io: Io,
  submissions: readonly Submission[],
  readme: Uint8Array | undefined,
): Promise<readonly Submission[]> {
  const lines: string[] = [];
  const bundled: Submission[] = [];
  for (const submission of submissions) {
    const name = await bundleBeside(io, submission);
    if (name === undefined) {
      bundled.push(submission);
      continue;
    }
    const { bytes, statement } = await readBundleFile(io, name);
    await checkBundle(io, name, statement, submission, readme);
    lines.push(`using ${name} for ${releaseName(submission)}`);
    bundled.push({ ...submission, bundles: [bytes] });
  }
  const more = lines.length - MAX_LISTED;
  if (more > 0) lines.splice(MAX_LISTED, more, `and ${plural(more, 'other bundle')}`);
  for (const line of lines) await printLine(io, escapeControls(line));
  return bundled;
}

/** Returns the bundle next to the file of a submission, if there is one. A catalog has no bundles of its entries. */
async function bundleBeside(io: Io, { file, exact }: Submission): Promise<string | undefined> {
  if (!exact || file === STDIN_NAME || file.startsWith(OCI_SCHEME)) return undefined;
  const name = `${file}.sigstore.json`;
  const status = await stat(path.resolve(io.cwd, name)).catch(() => undefined);
  return status?.isFile() === true ? name : undefined;
}

async function checkBundle(
  io: Io,
  name: string,
  statement: Statement | undefined,
  submission: Submission,
  readme: Uint8Array | undefined,
): Promise<void> {
  const { file, bytes, release } = submission;
  const sign = `krmhub sign ${shellWord(file)} --key FILE.key --release ${release} --overwrite`;
  const refused = (why: string, wayOut = `Sign it again: ${sign}`) =>
    new KrmhubError(
      'untrusted',
      escapeControls(`cannot publish ${releaseName(submission)}: ${name} ${why}`),
      {
        hint: escapeControls(`${wayOut}. To publish without this signature, remove ${name}.`),
      },
    );
  if (statement === undefined) throw refused('does not contain a release');
  if (!hasSubject(statement, [sha256(bytes)])) {
    const onDisk = sha256(await readFileUpTo(io, file));
    if (onDisk === sha256(bytes) || !hasSubject(statement, [onDisk]))
      throw refused(`does not sign ${file}, which has changed since`);
    throw refused(
      'signs the file, but the release gets the digest of its script',
      `Sign the release when you publish it: krmhub publish ${shellWord(file)} --release ${release} --key FILE.key`,
    );
  }
  if (statement.predicateType === SIGNATURE_PREDICATE) throw refused('signs the bytes, not a release');
  const signed = signedRelease(statement);
  if (signed === undefined) return;
  const named = releaseName(signed);
  if (named !== releaseName(submission)) {
    throw refused(
      `signs ${named}`,
      `Publish the signed release with --release ${signed.release}, or sign this one: ${sign}`,
    );
  }
  const manifest = manifestDigest(statement);
  if (manifest === undefined || manifest === manifestDigest(submissionStatement(submission, readme))) return;
  if (readme !== undefined)
    throw refused('does not sign this README', `Sign it again: ${sign} --readme README`);
  throw refused(
    'signs the release with a README',
    `Publish it with the same README (--readme), or sign it again: ${sign}`,
  );
}

/** Returns the digest of the manifest of a release in a statement, which covers the README. */
function manifestDigest(statement: Statement): string | undefined {
  return statement.subject.find(({ name }) => name === MANIFEST_SUBJECT)?.digest.sha256;
}

function releaseName({ group, kind, release }: { group: string; kind: string; release: string }): string {
  return `${group}/${kind}@${release}`;
}
