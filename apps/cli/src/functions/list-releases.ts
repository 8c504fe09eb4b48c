import type { FunctionDetail, ReleaseSummary } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../io/print.js';
import { relativeTime } from '../io/time.js';
import { connect } from '../registry/connection.js';
import { findFunctionName } from '../registry/find-function-name.js';
import { parseFunctionReference } from '../registry/function-reference.js';
import { releaseNote } from './release-note.js';

export interface ReleasesOptions {
  output: OutputFormat;
  registry?: string;
}

/** Lists the releases of a function, newest first; on stderr, those that were taken down. */
export async function listReleases(io: Io, text: string, options: ReleasesOptions): Promise<void> {
  const reference = parseFunctionReference(text);
  if (reference.release !== undefined) {
    throw new KrmhubError('usage', `${JSON.stringify(text)} is one release, expected a function`, {
      hint: `Remove the release, or show it: krmhub show ${text}`,
    });
  }
  const client = await connect(io, options.registry);
  const name = await findFunctionName(client, reference);
  const { group, kind, releases, takedowns = [], ...fn } = await client.function(name.group, name.kind);
  await printData(io, options.output, { group, kind, releases, takedowns }, () =>
    printReleases(io, releases),
  );
  for (const { release, at, by, reason } of takedowns) {
    await printLine(
      io,
      escapeControls(
        `${group}/${kind}@${release} was taken down ${relativeTime(at, io.now())} by ${by}: ${reason}`,
      ),
    );
  }
  await printLine(io, escapeControls(summary({ group, kind, releases, ...fn })));
}

async function printReleases(io: Io, releases: readonly ReleaseSummary[]): Promise<void> {
  const cells = (one: ReleaseSummary) => [one.publishedBy, one.signature.state];
  await printTable(
    io,
    [
      { header: 'RELEASE' },
      { header: 'PUBLISHED' },
      { header: 'BY', min: 8 },
      { header: 'SIGNATURE' },
      { header: 'DIGEST' },
      { header: 'NOTE', min: 8 },
    ],
    releases,
    {
      terminal: (one) => [
        one.release,
        relativeTime(one.publishedAt, io.now()),
        ...cells(one),
        one.digest.slice(0, 'sha256:'.length + 12),
        releaseNote(one),
      ],
      pipe: (one) => [one.release, one.publishedAt, ...cells(one), one.digest, releaseNote(one)],
    },
  );
}

function summary({ group, kind, releases, catalogs }: FunctionDetail): string {
  if (releases.length > 0) return `${group}/${kind}: ${plural(releases.length, 'release')}`;
  return `${group}/${kind}: no release in this registry; upstream entries in ${catalogs.join(', ')} do not contain the release`;
}
