import type { Takedown } from '@krmhub/schema';
import { dataPaths } from '../../store/data-folder.js';
import { openTakedownRecord } from './record.js';

export interface RestoredTakedowns {
  /** Takedowns that the registry applies when it starts on the folder, if its database lacks them. */
  takedowns: Takedown[];
  /** Text for the operator. */
  notice: string;
}

/**
 * Records takedowns in a restored data folder. Call it after the backup's files are in place and before a registry
 * starts there, because a backup contains what was taken down later. `others` are takedowns from other sources: the
 * record of the replaced folder, a copy of it, or a saved revocation feed. `backupTime` is when the backup was taken,
 * UTC.
 */
export async function restoreTakedowns(options: {
  dataFolder: string;
  others: readonly Takedown[];
  backupTime: string;
}): Promise<RestoredTakedowns> {
  const { dataFolder, others, backupTime } = options;
  const record = openTakedownRecord(dataPaths(dataFolder).takedowns);
  await record.add(others);
  const takedowns = await record.read();
  const later = takedowns.filter(({ at }) => Date.parse(at) >= Date.parse(backupTime));
  return { takedowns, notice: formatNotice(later, backupTime, others.length > 0) };
}

function formatNotice(later: readonly Takedown[], backupTime: string, given: boolean): string {
  const opening = `This backup is from ${backupTime}. It contains releases that were taken down later.`;
  if (later.length === 0) {
    return given
      ? `${opening} The file in \`--takedowns\` has no later takedowns.`
      : `${opening} The data folder has no record of later takedowns. If there were any, do not start the registry. Restore to another folder, and use \`--takedowns\` with a copy of the old takedowns.jsonl or of a revocation feed of a mirror.`;
  }
  const names = later.slice(0, 20).map(({ group, kind, release }) => `${group}/${kind}@${release}`);
  const more = later.length > 20 ? ` and ${later.length - 20} more` : '';
  return `${opening} At its next start, the registry takes down ${later.length} of them again: ${names.join(', ')}${more}.`;
}
