import { type Digest, KrmhubError } from '@krmhub/schema';
import { text } from '../../store/sql/statement.js';
import { type Check, type CheckInput, damage, FROM_BACKUP } from './finding.js';

interface ReleaseRow {
  id: number;
  name: string;
  digest: Digest;
  size: number;
  readme: Digest | null;
}

/** Releases per read. */
const PAGE = 500;

/** Checks that the definition and the README of every release exist and match their digests. */
export const checkReleases: Check = async function* (input) {
  const page = input.client.prepare<[number, number], ReleaseRow>(
    `SELECT release.id, group_name || '/' || kind || '@' || release.release AS name, digest, size, readme
     FROM release JOIN function ON function.id = function_id WHERE release.id > ? ORDER BY release.id LIMIT ?`,
  );
  // Many releases share a README.
  const readmes = new Map<Digest, string | undefined>();
  let checked = 0;
  for (let rows = page.all(0, PAGE); rows.length > 0; rows = page.all(rows.at(-1)!.id, PAGE)) {
    for (const { id, name, digest, size, readme } of rows) {
      const definition = await findProblem(input, digest, size);
      if (definition !== undefined && !(await isThereNow(input, id))) continue;
      if (definition !== undefined) yield damage(name, `its definition ${definition}`, FROM_BACKUP);
      if (readme === null) continue;
      if (!readmes.has(readme)) readmes.set(readme, await findProblem(input, readme));
      const problem = readmes.get(readme);
      if (problem !== undefined && (await isThereNow(input, id)))
        yield damage(name, `its README ${problem}`, FROM_BACKUP);
    }
    checked += rows.length;
    await input.progress(`${checked} releases checked`);
  }
};

const selectRelease = text('SELECT 1 AS found FROM release WHERE id = :id');

/** Reports whether the release still exists. It may have been taken down meanwhile. */
async function isThereNow({ now }: CheckInput, id: number): Promise<boolean> {
  return (await now(() => selectRelease.first({ id }))) !== undefined;
}

async function findProblem(
  { blobs }: CheckInput,
  digest: Digest,
  size?: number,
): Promise<string | undefined> {
  let bytes: Uint8Array | undefined;
  try {
    bytes = await blobs.get(digest);
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    return error.code === 'internal'
      ? `does not match its digest ${digest}`
      : `cannot be read: ${error.message}`;
  }
  if (bytes === undefined) return `${digest} is missing`;
  if (size !== undefined && bytes.byteLength !== size) {
    return `has ${bytes.byteLength} bytes, expected ${size}`;
  }
  return undefined;
}
