import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { openLock } from '../../lock/open-lock.js';
import { formatPlugin } from './plugin-folder.js';
import { isSameRuntime, type PluginPin, type PluginRecord } from './plugin-record.js';

/**
 * Returns the pin that the krmhub.lock of a kustomization names; the first one if the lock does not have the function.
 *
 * A lock file is part of the kustomization, which may be someone else's: it chooses among what the user installed, and
 * adds nothing. Throws `untrusted` if it names something else.
 */
export async function choosePin(io: Io, record: PluginRecord, folder: string): Promise<PluginPin> {
  const lock = await openLock(io, { folder, frozen: false });
  const { apiVersion, kind } = record.function;
  const searched = [...(record.official === undefined ? [] : [record.official]), ...record.catalogs];
  const locked = lock?.find(
    searched.map((text) => ({ text, folder })),
    apiVersion,
    kind,
  );
  if (locked === undefined) return record.pins[0];
  const pin = record.pins.find(({ runtime }) => isSameRuntime(runtime, locked.runtime));
  if (pin !== undefined) return pin;
  const name = formatPlugin(record.function);
  const file = path.join(folder, 'krmhub.lock');
  const release = locked.release === undefined ? 'another release' : `release ${locked.release}`;
  const catalogs = record.catalogs.map((text) => `-c ${shellWord(text)}`).join(' ');
  throw new KrmhubError(
    'untrusted',
    escapeControls(`cannot run ${name}: ${file} locks ${release}, which is not installed`),
    {
      hint: escapeControls(
        `Install it: krmhub plugins install ${catalogs} --kind ${name} --lock ${shellWord(file)}`,
      ),
    },
  );
}
