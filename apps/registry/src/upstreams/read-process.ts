import { deserialize, serialize } from 'node:v8';
import { readChangedEntries } from '@krmhub/catalog/read-changes';
import { readUpstreamWithTotals } from '@krmhub/catalog/read-upstream';
import { respondToFrames } from '../workers/isolation/frames.js';
import type { ReadInput, ReadResult } from './upstream-reader.js';

/** Reads upstream catalogs. A catalog that needs too much time or memory ends only this process. */
respondToFrames((input) => serialize(read(deserialize(input) as ReadInput)));

function read({ bytes, file, known, reading, former }: ReadInput): ReadResult {
  const read =
    (former && readChangedEntries(bytes, file, former)) ?? readUpstreamWithTotals(bytes, file, reading);
  if ('problem' in read) return read;
  const { entries, ...rest } = read;
  return {
    entries: entries.map(({ facts }) => facts),
    rendered: entries.flatMap(({ rendered }) => (known.has(rendered.digest) ? [] : [rendered])),
    ...rest,
  };
}
