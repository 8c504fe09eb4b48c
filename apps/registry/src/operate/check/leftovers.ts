import type { BlobReader, StoredFile } from '../../store/blobs/reader.js';
import { IS_UNUSED_FILE } from '../../store/records/functions/release-files.js';
import { COPIES } from '../../store/records/sources/source-rows.js';
import { text } from '../../store/sql/statement.js';
import { type Check, type CheckInput, information } from './finding.js';

/** Milliseconds for which an unused file may belong to a running publish or build. */
const IN_FLIGHT_MILLISECONDS = 60_000;

/** Reports files that a killed process left. They only use space. */
export const checkLeftovers: Check = async function* (input) {
  const { client, blobs, profiles, artifacts, copies } = input;
  const named = (sql: string) => {
    const isNamed = client.prepare<{ digest: string }, 0 | 1>(`SELECT EXISTS (${sql})`).pluck();
    return ({ digest }: { digest: string }) => isNamed.get({ digest }) === 1;
  };
  const ofRelease = named(
    'SELECT 1 FROM release WHERE digest = :digest UNION ALL SELECT 1 FROM release WHERE readme = :digest',
  );
  const ofProfile = named('SELECT 1 FROM rendition WHERE blob = :digest');
  yield* reclaimable(input, 'blobs', 'published files that no release uses', unnamed(blobs, ofRelease));
  yield* unusedRows(input);
  yield* reclaimable(input, 'forms', 'profiles that no row uses', unnamed(profiles, ofProfile));
  const ofRepository = named("SELECT 1 FROM oci_blob WHERE file = :digest AND place = 'artifacts'");
  yield* reclaimable(
    input,
    'artifacts',
    'files that no repository uses, which the registry removes',
    unnamed(artifacts, ofRepository),
  );
  yield* reclaimable(
    input,
    'copies',
    'copies that no source uses, which the registry removes',
    unnamed(copies, named(`SELECT 1 FROM (${COPIES}) WHERE digest = :digest`)),
  );
  yield* reclaimable(input, 'copies', 'partial files, which the next start removes', copies.unfinished());
  yield* reclaimable(input, 'blobs', 'partial files, which the next start removes', blobs.unfinished());
  yield* reclaimable(input, 'forms', 'partial files, which the next start removes', profiles.unfinished());
  yield* reclaimable(
    input,
    'artifacts',
    'partial files, which the next start removes',
    artifacts.unfinished(),
  );
  yield* unusedProfiles(input);
};

/** Rows are stored and deleted with their releases, so that none is in flight. */
async function* unusedRows({ client }: CheckInput) {
  const { count, bytes } = client
    .prepare<[], { count: number; bytes: number }>(
      `SELECT count(*) AS count, total(length(bytes)) AS bytes FROM release_file WHERE ${IS_UNUSED_FILE}`,
    )
    .get()!;
  if (count > 0)
    yield information('registry.db', `${count} stored files that no release uses: ${bytes} bytes`);
}

const ofNoSnapshot = text<{ digest: string; blob: string }>(
  `SELECT digest, blob FROM rendition WHERE digest NOT IN (
     SELECT digest FROM profile_rendition UNION ALL SELECT report FROM profile_rendition)`,
);

async function* unusedProfiles(input: CheckInput) {
  const before = await input.read(() => ofNoSnapshot.all());
  if (before.length === 0) return;
  // A profile is stored before its row. It is new, or has a row or is deleted by now.
  const inFlight = new Set<string>();
  for await (const { digest, written } of input.profiles.blobs()) {
    if (isInFlight(input, written)) inFlight.add(digest);
  }
  const still = new Set((await input.now(() => ofNoSnapshot.all())).map(({ digest }) => digest));
  const left = before.filter(({ digest, blob }) => !inFlight.has(blob) && still.has(digest));
  const count = new Set(left.map(({ digest }) => digest)).size;
  if (count > 0) yield information('forms', `${count} stored profiles belong to no snapshot`);
}

function isInFlight({ startedAt: began }: CheckInput, written: Date): boolean {
  return written.getTime() > began.getTime() - IN_FLIGHT_MILLISECONDS;
}

async function* unnamed(reader: BlobReader, isNamed: (blob: { digest: string }) => boolean) {
  for await (const blob of reader.blobs()) if (!isNamed(blob)) yield blob;
}

async function* reclaimable(
  input: CheckInput,
  subject: string,
  what: string,
  files: AsyncIterable<StoredFile>,
) {
  let count = 0;
  let bytes = 0;
  for await (const { size, written } of files) {
    if (isInFlight(input, written)) continue;
    count += 1;
    bytes += size;
  }
  if (count > 0) yield information(subject, `${count} ${what}: ${bytes} bytes`);
}
