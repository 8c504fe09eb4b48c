import { KrmhubError, type Takedown } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { lacksSigners, openTakedownRecord, takedownName } from '../../publish/takedown/record.js';
import { type Check, damage, information } from './finding.js';

type TombstoneRow = Pick<Takedown, 'group' | 'kind' | 'release' | 'digest' | 'at' | 'by' | 'reason'> & {
  signers: string | null;
};

/** Checks that the record next to the database has every finished takedown, with the signers that it pins. */
export const checkTakedownRecord: Check = async function* ({ client, takedownRecord }) {
  let recorded: Takedown[];
  try {
    recorded = await openTakedownRecord(takedownRecord).read();
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    yield damage('takedowns.jsonl', error.message, error.hint);
    return;
  }
  const byName = new Map(recorded.map((one) => [takedownName(one), one]));
  const rows = client
    .prepare<[], TombstoneRow>(
      `SELECT group_name AS "group", kind, release, digest, at, by, reason, signers FROM takedown
       WHERE finished = 1 ORDER BY id`,
    )
    .all();
  for (const { signers, ...row } of rows) {
    const tombstone: Takedown = {
      ...row,
      ...defined({ signers: signers === null ? undefined : JSON.parse(signers) }),
    };
    const name = `${row.group}/${row.kind}@${row.release}`;
    const record = byName.get(takedownName(tombstone));
    if (record === undefined) {
      yield information(name, 'takedowns.jsonl lacks this takedown; the next start adds it');
    } else if (lacksSigners(record, tombstone) || lacksSigners(tombstone, record)) {
      yield information(
        name,
        'takedowns.jsonl and the database name different signers of this takedown; the next start adds them',
      );
    }
  }
};
