import { readFileSync, writeSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { readUpstreamCatalog } from '@krmhub/catalog/read-upstream';
import type { ReadAnswer, ReadInput } from './upstream-reader.js';

/** Reads a catalog that somebody else serves: what is too much for it takes down this process alone. */
const { bytes, file, known } = deserialize(readFileSync(0)) as ReadInput;
const answer = serialize(read());
for (let written = 0; written < answer.byteLength; ) written += writeSync(1, answer, written);

function read(): ReadAnswer {
  const read = readUpstreamCatalog(bytes, file);
  if ('problem' in read) return read;
  const { entries, invalid, invalidEntries } = read;
  return {
    entries: entries.map(({ facts }) => facts),
    rendered: entries.flatMap(({ rendered }) => (known.has(rendered.digest) ? [] : [rendered])),
    invalid,
    invalidEntries,
  };
}
