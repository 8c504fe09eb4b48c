import { deserialize, serialize } from 'node:v8';
import type { RenderedEntry } from '@krmhub/catalog';
import { readChangedEntries } from '@krmhub/catalog/read-changes';
import { readUpstreamWithTotals } from '@krmhub/catalog/read-upstream';
import { respondToFrames } from '../workers/isolation/frames.js';
import type { ReadInput, ReadPart, ReadResult } from './upstream-reader.js';

/** Rendered entries of a part, and their characters, with which it ends. The registry stores it in one transaction. */
const PART = { entries: 100, length: 1_048_576 };

/** Reads upstream catalogs. A catalog that needs too much time or memory ends only this process. */
respondToFrames((input, sendPart) =>
  serialize(
    read(deserialize(input) as ReadInput, (rendered) => sendPart(serialize(rendered satisfies ReadPart))),
  ),
);

/** Sends what was rendered in parts, so that the registry never has all of a large catalog in memory. */
function read(
  { bytes, file, known, reading, former }: ReadInput,
  send: (rendered: RenderedEntry[]) => void,
): ReadResult {
  const read =
    (former && readChangedEntries(bytes, file, former)) ?? readUpstreamWithTotals(bytes, file, reading);
  if ('problem' in read) return read;
  const { entries, ...rest } = read;
  let rendered: RenderedEntry[] = [];
  let length = 0;
  for (const entry of entries) {
    const { digest, yaml, json } = entry.rendered;
    if (known.has(digest)) continue;
    if (rendered.length === PART.entries || length > PART.length) {
      send(rendered);
      [rendered, length] = [[], 0];
    }
    rendered.push(entry.rendered);
    length += yaml.length + json.length;
  }
  return { entries: entries.map(({ facts }) => facts), rendered, ...rest };
}
